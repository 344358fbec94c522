import { createPrivateKey } from 'node:crypto';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { runOn } from '../../src/time/host.ts';
import { noteKey, noteSigner } from '../../src/tlog/ed25519.ts';
import { formatVerifierKey } from '../../src/tlog/verifier-key.ts';
import type { LogKey } from '../../src/transparency/log-key.ts';
import type { Watcher } from './actions/watch.ts';
import { Instance, type Surroundings } from './instance.ts';
import { CommandJudge } from './judges/commands.ts';
import type { PlantRead } from './judges/linearizability.ts';
import { ProofJudge } from './judges/proofs.ts';
import { ReadModelJudge } from './judges/read-model.ts';
import { Truth } from './judges/truth.ts';
import { Violation } from './judges/violation.ts';
import { Network } from './machine/network.ts';
import { EPOCH, machineOf, Process } from './machine/process.ts';
import { Random } from './machine/random.ts';
import { Scheduler } from './machine/scheduler.ts';
import { Server } from './machine/server.ts';
import { FakeTopic } from './machine/topic.ts';
import type { Plan } from './plan.ts';
import { Database } from './store/database.ts';

/** One key for every history: to make one takes longer than a history. */
const PRIVATE_KEY = createPrivateKey({
  key: Buffer.from(
    '302e020100300506032b657004220420000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
    'hex',
  ),
  format: 'der',
  type: 'pkcs8',
});
const LOG_KEY: LogKey = {
  signer: noteSigner('simulation', PRIVATE_KEY),
  vkey: formatVerifierKey(noteKey('simulation', PRIVATE_KEY)),
};

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
  readonly truth = new Truth();
  readonly commands = new CommandJudge(this.truth);
  readonly proofs = new ProofJudge(this.truth);
  readonly #readModel = new ReadModelJudge(this.truth);
  readonly instances: Instance[] = [];
  /** Processes of operators that have not ended. */
  readonly operators = new Set<Process>();
  readonly watchers: Watcher[] = [];
  /** Owners of whom an erasure was begun. */
  readonly erased = new Set<string>();
  erasures = 0;
  rebuilds = 0;
  /** Damages of the read model so far, and those of which a repair has found all. */
  damages = 0;
  #mended = 0;
  moves = 0;
  /** Calls of clients that have no answer yet, by the process that is to answer. */
  readonly pending = new Map<object, Process>();
  /** What clients heard of plants. */
  readonly reads: PlantRead[] = [];
  /** What happened, a line each. */
  readonly story: string[] = [];
  violation: Violation | undefined;
  readonly vkey = LOG_KEY.vkey;
  readonly #surroundings: Surroundings;
  #processes = 0;

  constructor(seed: number, plan: Plan) {
    this.plan = plan;
    this.random = new Random(`${seed}/world`);
    const { scheduler } = this;
    const database = new Database('0'.repeat(32), () => Math.floor(EPOCH + scheduler.now));
    this.server = new Server(database, scheduler, this.random.of('server'), plan.weather);
    this.network = new Network(scheduler, this.random.of('network'));
    this.topic = plan.publishes ? new FakeTopic(scheduler, this.random.of('topic')) : undefined;
    this.#surroundings = { server: this.server, network: this.network, topic: this.topic, key: LOG_KEY };
    database.onCommitted((state) => {
      for (const event of state.events.slice(this.truth.events.length)) this.tell('log', eventText(event));
      this.judge(() => {
        this.truth.take(state);
        this.#readModel.take(state);
      });
    });
    runOn(machineOf(scheduler));
    for (let index = 0; index < plan.instances; index++) this.start(index);
  }

  /** Whether the read model was damaged, and no repair since has come to its end. */
  get isDamaged(): boolean {
    return this.#mended < this.damages;
  }

  /** Somebody is about to damage the read model. */
  damaged(): void {
    this.damages++;
    this.#readModel.damaged();
  }

  /** A repair is done that began after so many damages. */
  repaired(damages: number): void {
    if (!this.isDamaged || damages < this.damages) return;
    this.#mended = damages;
    this.judge(() => this.#readModel.repaired(this.server.database.committed));
  }

  /** Starts an instance, in the place of an earlier one. */
  start(index: number): void {
    this.instances[index] = new Instance(this.process(`instance-${index}`), this.#surroundings);
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
