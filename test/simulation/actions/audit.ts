import { plantsAsOf } from '../../../src/audit/fold/as-of.ts';
import type { OwnedRow } from '../../../src/log/store.ts';
import { OWNERS } from '../draws.ts';
import type { Instance } from '../instance.ts';
import { FollowJudge, judgeAsOf } from '../judges/audit.ts';
import type { World } from '../world.ts';
import { run } from './operators.ts';

/** Milliseconds after which a reader comes back whose stream has ended. */
const RETRY = 300;

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

/** Somebody who reads the log, and goes on after the last position whenever the stream ends. */
export class LogReader {
  readonly judge: FollowJudge;
  readonly #world: World;
  #instance: Instance;
  /** The number of the stream: what comes from an earlier one is not read any more. */
  #stream = 0;

  constructor(world: World, instance: Instance) {
    this.#world = world;
    this.#instance = instance;
    this.judge = new FollowJudge(world.truth);
    this.#open();
  }

  /** The reader finds that the instance is gone, and goes to another. */
  lost(process: Instance['process']): void {
    if (this.#instance.process === process) this.#retry();
  }

  /** A backup was restored, and the reader starts again. */
  restart(): void {
    this.judge.position = 0;
    this.#retry();
  }

  #retry(): void {
    const stream = ++this.#stream;
    this.#world.scheduler.after(RETRY, undefined, () => {
      if (stream !== this.#stream) return;
      this.#instance = this.#world.instance(this.#world.random.whole(0, 9));
      this.#open();
    });
  }

  #open(): void {
    const stream = ++this.#stream;
    const { process, service } = this.#instance;
    if (service === undefined) {
      this.#retry();
      return;
    }
    const read = async () => {
      for await (const events of service.log.read(this.judge.position, { follow: true })) {
        if (stream !== this.#stream) return;
        this.#world.judge(() => this.judge.take(events));
      }
    };
    process.do(() =>
      read().catch((error) => {
        this.#world.tell(process.name, `ends the reading of the log: ${(error as Error).message}`);
        if (stream === this.#stream) this.#retry();
      }),
    );
  }
}
