import { createPrivateKey } from 'node:crypto';
import type { EraseRequest } from '../../src/log/erasure/eraser.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { runOn } from '../../src/time/host.ts';
import { noteSigner } from '../../src/tlog/signer.ts';
import type { LogReader } from './actions/audit.ts';
import { checkpoint } from './actions/proofs.ts';
import type { Watcher } from './actions/watch.ts';
import { Instance, type Surroundings } from './instance.ts';
import { CommandJudge } from './judges/commands.ts';
import { Freshness } from './judges/freshness.ts';
import { ProofJudge } from './judges/proofs.ts';
import { ReadModelJudge } from './judges/read-model.ts';
import { Truth } from './judges/truth.ts';
import { Violation } from './judges/violation.ts';
import { Disk } from './machine/disk.ts';
import { Network } from './machine/network.ts';
import { EPOCH, machineOf, Process } from './machine/process.ts';
import { Random } from './machine/random.ts';
import { Scheduler } from './machine/scheduler.ts';
import { Server } from './machine/server.ts';
import { FakeTopic } from './machine/topic.ts';
import { Witnesses } from './machine/witnesses.ts';
import type { Plan } from './plan.ts';
import { Database } from './store/database.ts';
import { fill } from './store/fill.ts';
import type { State } from './store/state.ts';

/** One key for every history: to make one takes longer than a history. */
const PRIVATE_KEY = createPrivateKey({
  key: Buffer.from(
    '302e020100300506032b657004220420000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
    'hex',
  ),
  format: 'der',
  type: 'pkcs8',
});
const SIGNER = noteSigner('simulation', PRIVATE_KEY);

/** An event in a few words. */
function eventText({ position, type, event }: LoggedEvent): string {
  const about = event !== undefined && 'plantId' in event ? ` of ${event.owner}/${event.plantId}` : '';
  return `${position} is ${type}${about} by ${event?.actor}`;
}

/** What one history happens in: a database, instances, operators, clients, and the judges of what they hear. */
export class World {
  readonly scheduler = new Scheduler();
  readonly random: Random;
  readonly plan: Plan;
  readonly server: Server;
  readonly network: Network;
  readonly topic: FakeTopic | undefined;
  readonly witnesses: Witnesses | undefined;
  readonly freshness: Freshness;
  readonly truth = new Truth();
  readonly commands = new CommandJudge(this.truth);
  readonly readModel = new ReadModelJudge(this.truth);
  readonly proofs = new ProofJudge(this.truth);
  readonly instances: Instance[] = [];
  /** By the number of the instance. */
  readonly disks: readonly Disk[];
  /** Processes of operators that have not ended. */
  readonly operators = new Set<Process>();
  readonly watchers: Watcher[] = [];
  erasures = 0;
  /** What the last of them asked for. */
  lastEraser: EraseRequest | undefined;
  /** Readers of the log. */
  readonly readers: LogReader[] = [];
  rebuilds = 0;
  moves = 0;
  audits = 0;
  verifications = 0;
  /** The last backup. */
  backup: State | undefined;
  /** Whether a backup was ever restored. */
  wasRestored = false;
  /** Calls of clients that have no answer yet, by the process that is to answer. */
  readonly pending = new Map<object, Process>();
  /** What happened, a line each. */
  readonly story: string[] = [];
  /** Since when the read model has been damaged, and when it was repaired last. */
  #damagedAt: number | undefined;
  #repairedAt = Number.NEGATIVE_INFINITY;
  /** Whether somebody may have decided on rows that were wrong. */
  isMisled = false;
  violation: Violation | undefined;
  readonly key = SIGNER.key;
  readonly #surroundings: Surroundings;
  #processes = 0;

  constructor(seed: number, plan: Plan) {
    this.plan = plan;
    this.random = new Random(`${seed}/world`);
    const { scheduler } = this;
    const database = new Database('0'.repeat(32), () => Math.floor(EPOCH + scheduler.now));
    this.server = new Server(database, scheduler, this.random.of('server'), plan);
    this.freshness = new Freshness(scheduler, () => this.commands.known, plan.strictReads);
    this.network = new Network(scheduler, this.random.of('network'));
    this.topic = plan.publishes ? new FakeTopic(scheduler, this.random.of('topic')) : undefined;
    const disk = () => new Disk(scheduler, this.random.of('disk'));
    const shared = plan.sharesDisk ? disk() : undefined;
    this.disks = Array.from({ length: plan.instances }, () => shared ?? disk());
    const { count = 0, quorum = 0 } = plan.witnesses ?? {};
    this.witnesses = count === 0 ? undefined : new Witnesses(scheduler, this.random.of('witnesses'), count, SIGNER.key);
    this.#surroundings = {
      server: this.server,
      network: this.network,
      topic: this.topic,
      signer: SIGNER,
      onStartFailed: (process, error) => this.startFailed(process, error),
      witnesses: this.witnesses,
      quorum,
      onOutcome: ({ name }, witness, outcome, error) => {
        this.tell(name, `${witness}: ${error === undefined ? outcome : `${outcome}: ${(error as Error).message}`}`);
        this.judge(() => this.proofs.witnessed(outcome, error));
        // What is served from now on.
        const instance = this.instances.find(({ process }) => process.name === name);
        if (outcome === 'cosigned' && instance !== undefined) checkpoint(this, instance);
      },
      onReadModelBroken: ({ name }, fault) => {
        this.tell(name, fault.message);
        this.judge(() => {
          if (!this.wasRestored && !this.wasDamaged)
            throw new Violation('read model', `${name} finds it broken, and it never was: ${fault.message}`);
        });
      },
      onBroken: (error) => {
        this.judge(() => this.proofs.refused(error));
      },
    };
    database.onCommitted((state) => this.look(state));
    runOn(machineOf(scheduler));
  }

  /** Fills the database, and starts the instances. */
  async begin(): Promise<void> {
    await fill(this.server.database, this.plan.fillers);
    for (let index = 0; index < this.plan.instances; index++) this.start(index);
  }

  /** Judges what a majority has now. */
  look(state: State): void {
    for (const event of state.events.slice(Math.max(this.truth.events.length, 2 * this.plan.fillers)))
      this.tell('log', eventText(event));
    this.judge(() => {
      this.truth.take(state);
      if (!this.isDamaged) this.readModel.take(state);
    });
  }

  /** Whether the read model is damaged. */
  get isDamaged(): boolean {
    return this.#damagedAt !== undefined;
  }

  /** Whether it ever was. */
  get wasDamaged(): boolean {
    return this.isDamaged || this.#repairedAt > 0;
  }

  /** The read model is damaged. `misleads`: commands may be decided wrongly. */
  damaged(misleads: boolean): void {
    this.#damagedAt = this.scheduler.now;
    this.isMisled ||= misleads;
    this.truth.isMisled ||= misleads;
  }

  /** A repair that began at a time says that the read model is right. */
  repaired(began: number): void {
    if (this.#damagedAt === undefined || began < this.#damagedAt) return;
    this.#damagedAt = undefined;
    this.#repairedAt = this.scheduler.now;
    this.judge(() => this.readModel.restore(this.server.database.committed));
  }

  /** Whether what a call gets may be of rows that were damaged: it may be as of this time, when it began or before. */
  mayBeWrong(asOf: number): boolean {
    return this.isDamaged || asOf < this.#repairedAt;
  }

  /** Puts a backup in the place of the database, while no process runs. */
  restore(backup: State): void {
    this.server.restore(backup);
    this.wasRestored = true;
    this.judge(() => {
      this.truth.restore(this.server.database.committed);
      this.readModel.restore(this.server.database.committed);
      this.commands.restore(backup.events.length);
    });
    this.freshness.restore();
    for (const reader of [...this.watchers, ...this.readers]) reader.restart();
  }

  /** Starts an instance, in the place of an earlier one. */
  start(index: number): void {
    this.instances[index] = new Instance(this.process(`instance-${index}`), this.disks[index]!, this.#surroundings);
  }

  /**
   * An instance may not start while a backup is restored, or a checkpoint is lost, and only then. It is started again.
   */
  startFailed(process: Process, error: unknown): void {
    this.judge(() => {
      if (!this.wasRestored && !this.wasDamaged)
        throw new Violation('unhandled', `${process.name} does not start: ${error}`);
    });
    this.tell(process.name, `does not start: ${error}`);
    const index = this.instances.findIndex((instance) => instance.process === process);
    if (index < 0) return;
    process.kill();
    this.scheduler.after(1_000, undefined, () => this.start(index));
  }

  /** A new process. */
  process(name: string): Process {
    return new Process(name, this.scheduler, this.random.of(`${name}/${this.#processes++}`));
  }

  /** An instance by any number. */
  instance(number: number): Instance {
    return this.instances[number % this.instances.length]!;
  }

  /** A process that has not ended, by any number. */
  victim(number: number): Process | undefined {
    const processes = [...this.instances.map(({ process }) => process), ...this.operators];
    const alive = processes.filter(({ isDead }) => !isDead);
    return alive.at(number % alive.length);
  }

  /** Judges something. The first violation ends the history. */
  judge(work: () => void): void {
    if (this.violation !== undefined) return;
    try {
      work();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.violation = error;
      this.tell('judge', `${error.kind}: ${error.message}`);
    }
  }

  /** Writes a line of the story. */
  tell(who: string, what: string): void {
    this.story.push(`${this.scheduler.now.toFixed(2).padStart(10)} ${who}: ${what}`);
  }

  /** Makes a call of a client in a process. `work` must not reject. */
  call(process: Process, work: () => Promise<void>): void {
    const call = {};
    this.pending.set(call, process);
    process.do(() => void work().finally(() => this.pending.delete(call)));
  }

  /** Lets time pass. */
  async pass(milliseconds: number): Promise<void> {
    let isOver = false;
    this.scheduler.after(milliseconds, undefined, () => {
      isOver = true;
    });
    await this.scheduler.run(() => isOver || this.violation !== undefined);
  }
}
