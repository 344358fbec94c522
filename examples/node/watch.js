// Needs Node.js 22.19 or newer.
import { setTimeout as sleep } from 'node:timers/promises';
import { EventSource } from 'eventsource';
import { Agent, fetch } from 'undici';

// The service sends something at least every 15 s. A connection that is silent for longer than this, in milliseconds, is
// dead.
const SILENCE = 45_000;
const dispatcher = new Agent({ headersTimeout: SILENCE, bodyTimeout: SILENCE });

const authorization = `Bearer ${process.env.TOKEN}`;
const source = new EventSource(`${process.env.STORE}/plants`, {
  fetch: async (input, init) => {
    const response = await fetch(input, { ...init, dispatcher, headers: { ...init.headers, authorization } });
    // EventSource tries again when fetch fails. It gives up after any status but 200.
    if (response.status === 429 || response.status >= 500) {
      // No more than ten minutes: a timer holds 25 days at most.
      await sleep(Math.min(Number(response.headers.get('retry-after')) || 0, 600) * 1000);
      throw new Error(`HTTP ${response.status}`);
    }
    return response;
  },
});
for (const type of ['added', 'deleted', 'ready', 'reset'])
  source.addEventListener(type, ({ data, lastEventId }) => console.log(type, lastEventId, data));
// The pause before it reconnects does not keep the program alive by itself.
const alive = setInterval(() => {}, 60_000);
source.addEventListener('error', ({ message }) => {
  if (source.readyState === source.CLOSED) clearInterval(alive);
  console.error('no stream:', message ?? 'it ended');
});
