import { plantsAsOf } from '../../../src/audit/fold/as-of.ts';
import type { OwnedRow } from '../../../src/log/store.ts';
import { pause } from '../../../src/time/pause.ts';
import { OWNERS } from '../draws.ts';
import type { Instance } from '../instance.ts';
import { FollowJudge, judgeAsOf } from '../judges/audit.ts';
import type { World } from '../world.ts';
import { run } from './operators.ts';
import { StreamReader } from './stream-reader.ts';

/** `plantstore audit list`: the plants as of some positions before the end of the log. */
export function asOf(world: World, owner: string | undefined, back: number): void {
  const position = Math.max(world.truth.end - back, 0);
  const erased = new Map(world.commands.erased);
  run(world, `list-${++world.audits}`, async (store) => {
    const { plants } = await plantsAsOf(store, { position }, owner);
    const rows: OwnedRow[] = [];
    for await (const batch of plants) rows.push(...batch);
    for (const each of owner === undefined ? OWNERS : [owner])
      world.judge(() => judgeAsOf(world.truth, each, position, rows, erased.get(each) ?? 0));
    return `at ${position} there were ${rows.map((row) => `${row.owner}/${row.id}`)}`;
  });
}

/** Milliseconds for which a reader of the log does not read on, now and then. */
const SLOW = 2_000;

/** Somebody who reads the log, and goes on after the last position whenever the stream ends. */
export class LogReader extends StreamReader {
  readonly judge: FollowJudge;

  constructor(world: World, instance: Instance) {
    super(world, instance);
    // A server that was deposed may know of no erasure.
    this.judge = new FollowJudge(world.truth, world.plan.strictReads ? world.commands.erased : new Map());
    this.open();
  }

  /** A backup was restored, and the reader starts again. */
  restart(): void {
    this.judge.position = 0;
    this.retry();
  }

  protected override read({ log }: NonNullable<Instance['service']>, isCurrent: () => boolean): void {
    const { process } = this.instance;
    const read = async () => {
      for await (const events of log.read(this.judge.position, { follow: true })) {
        if (!isCurrent()) return;
        this.world.judge(() => this.judge.take(events));
        if (this.world.random.whole(0, 9) === 0) await pause(SLOW);
      }
    };
    process.do(() =>
      read().catch((error) => {
        this.world.tell(process.name, `ends the reading of the log: ${(error as Error).message}`);
        if (isCurrent()) this.retry();
      }),
    );
  }
}
