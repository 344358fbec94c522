import { EventSource } from 'eventsource';

const authorization = `Bearer ${process.env.TOKEN}`;
const source = new EventSource(`${process.env.STORE}/plants`, {
  fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization } }),
});
for (const type of ['added', 'deleted', 'ready', 'reset'])
  source.addEventListener(type, ({ data, lastEventId }) => console.log(type, lastEventId, data));
// The pause before it reconnects does not keep the program alive by itself.
const alive = setInterval(() => {}, 60_000);
source.addEventListener('error', ({ code }) => {
  if (source.readyState === source.CLOSED) clearInterval(alive);
  console.error(`no stream${code === undefined ? '' : `: HTTP ${code}`}`);
});
