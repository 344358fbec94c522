// The service sends something at least every 15 s. A connection that is silent for longer than this, in milliseconds, is
// dead.
const SILENCE = 45_000;

// Calls on(type, data, lastEventId) for each event. Rejects when the service refuses the request, such as its token.
export async function watchPlants(url, token, on) {
  let lastEventId = '';
  for (let seconds = 1; ; await new Promise((resolve) => setTimeout(resolve, seconds * 1000))) {
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${token}` };
    if (lastEventId !== '') headers['last-event-id'] = lastEventId;
    const dead = new AbortController();
    const heard = (next) => {
      const timer = setTimeout(() => dead.abort(), SILENCE);
      return next.finally(() => clearTimeout(timer));
    };
    const request = fetch(`${url}/plants`, { headers, cache: 'no-store', signal: dead.signal });
    const response = await heard(request).catch(() => undefined);
    // No more than ten minutes: a timer holds 25 days at most.
    seconds = Math.min(Number(response?.headers.get('retry-after')) || 1, 600);
    // A proxy answers 502 or 504 while an instance restarts.
    if (response === undefined || response.status === 429 || response.status >= 500) continue;
    if (!response.ok) throw new Error(await response.text());
    if (lastEventId === '') on('reset', {}, '');
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (let text = ''; ; ) {
        const { done, value } = await heard(reader.read());
        if (done) break;
        const blocks = (text + value).split('\n\n');
        text = blocks.pop();
        for (const block of blocks) {
          const { id, event, data } = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s)));
          if (id !== undefined) lastEventId = id;
          if (event !== undefined) on(event, JSON.parse(data), lastEventId);
        }
      }
    } catch {
      // The connection broke or fell silent: resume after the last event.
    }
  }
}
