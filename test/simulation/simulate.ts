import { parseArgs } from 'node:util';
import { runHistory } from './history.ts';

const { values } = parseArgs({
  options: { seed: { type: 'string' }, only: { type: 'string' }, minutes: { type: 'string', default: '1' } },
});

if (values.seed !== undefined) {
  const { violation, story } = await runHistory(Number(values.seed), values.only?.split(',').map(Number));
  console.log(story.join('\n'));
  console.log(violation === undefined ? 'nothing is wrong' : `${violation.kind}: ${violation.message}`);
  process.exitCode = violation === undefined ? 0 : 1;
} else {
  const until = performance.now() + Number(values.minutes) * 60_000;
  let histories = 0;
  let tasks = 0;
  const found = new Map<string, number[]>();
  for (let seed = Math.floor(Math.random() * 2 ** 31); performance.now() < until; seed++) {
    const { violation, world } = await runHistory(seed);
    histories++;
    tasks += world.scheduler.done;
    if (violation === undefined) continue;
    const text = violation.kind;
    const seeds = found.get(text) ?? [];
    if (seeds.length === 0) console.log(`${seed}: ${violation.kind}: ${violation.message}`);
    seeds.push(seed);
    found.set(text, seeds);
  }
  console.log(`${histories} histories, ${tasks} tasks`);
  for (const [kind, seeds] of found) console.log(kind, seeds.length, seeds.slice(0, 5).join(' '));
}
