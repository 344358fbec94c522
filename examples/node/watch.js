import { EventSource } from 'eventsource';

const authorization = `Bearer ${process.env.TOKEN}`;
const source = new EventSource(`${process.env.STORE}/plants`, {
  fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization } }),
});
for (const type of ['added', 'deleted', 'ready', 'reset'])
  source.addEventListener(type, ({ data, lastEventId }) => console.log(type, lastEventId, data));
// Its pause before it comes again does not keep a program alive that has nothing else to do.
const alive = setInterval(() => {}, 60_000);
source.addEventListener('error', ({ code }) => {
  if (source.readyState === source.CLOSED) clearInterval(alive);
  console.error(`no stream${code === undefined ? '' : `: HTTP ${code}`}`);
});
