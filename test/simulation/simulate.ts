import { parseArgs } from 'node:util';
import { runHistory } from './history.ts';
import { forgetSignals } from './machine/signals.ts';
import { planOf } from './plan-of.ts';
import { search } from './search.ts';
import { report, shrink } from './shrink.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    only: { type: 'string' },
    each: { type: 'string' },
    shrink: { type: 'boolean', default: false },
    from: { type: 'string' },
    minutes: { type: 'string', default: '1' },
    histories: { type: 'string' },
    brief: { type: 'boolean', default: false },
  },
});

const named = values.each?.split(',');
forgetSignals();

/** Does the history of one seed, step by step. */
async function repeat(seed: number, only: readonly number[] | undefined): Promise<boolean> {
  const whole = await runHistory(seed, planOf(seed, named), only);
  const { violation, story } = values.shrink ? await shrink(whole) : whole;
  console.log(story.join('\n'));
  if (violation === undefined) console.log('nothing is wrong');
  else console.log(`${violation.kind}: ${violation.message}`);
  return violation === undefined;
}

/** Does histories of random seeds. */
async function roam(seed: number, minutes: number): Promise<boolean> {
  console.log(`from seed ${seed}`);
  const found = await search(seed, minutes * 60_000, Number(values.histories ?? Number.POSITIVE_INFINITY), named);
  console.log(`${found.histories} histories of ${Math.round(found.tasks / found.histories)} tasks`);
  if (found.failed === undefined) return true;
  if (values.brief) {
    console.log(`${found.failed.violation?.kind}, ${found.histories}`);
    return false;
  }
  console.log(report(await shrink(found.failed), values.each));
  return false;
}

const random = Math.floor(Math.random() * 2 ** 31);
const isRight =
  values.seed === undefined
    ? await roam(Number(values.from ?? random), Number(values.minutes))
    : await repeat(Number(values.seed), values.only?.split(',').map(Number));
process.exitCode = isRight ? 0 : 1;
