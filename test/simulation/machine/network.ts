import type { Link, LinkListener, OpenLink } from '../../../src/log/forward/link.ts';
import type { Receiver, Reception } from '../../../src/log/forward/receiver.ts';
import type { Contact } from '../../../src/log/store.ts';
import type { Process } from './process.ts';
import type { Random } from './random.ts';
import type { Scheduler, Task } from './scheduler.ts';

/** Who takes commands at an address. */
interface Listening {
  readonly process: Process;
  readonly receiver: () => Receiver | undefined;
}

/** What happens to messages between two processes. */
export interface Line {
  /** Most milliseconds of a message's way. */
  slowness: number;
  /** Messages sent before this time wait until then. */
  silentUntil: number;
}

/** Messages in one direction: they arrive in order, some time after they were sent, also when their sender is gone. */
class Pipe {
  readonly #network: Network;
  readonly #line: Line;
  readonly #to: Process;
  #last: Task | undefined;

  constructor(network: Network, line: Line, to: Process) {
    this.#network = network;
    this.#line = line;
    this.#to = to;
  }

  send(deliver: () => void): void {
    const { scheduler, random } = this.#network;
    const silence = Math.max(this.#line.silentUntil - scheduler.now, 0);
    const way = silence + random.scaled(0.02, this.#line.slowness);
    // Not before the one that was sent before.
    this.#last = scheduler.after(Math.max(way, (this.#last?.at ?? 0) - scheduler.now), this.#to, deliver);
  }
}

interface Opened {
  readonly ends: readonly Process[];
  /** The connection breaks, and both ends hear so. */
  readonly cut: () => void;
}

/** The links between instances. */
export class Network {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly #listening = new Map<string, Listening>();
  readonly #lines = new Map<string, Line>();
  #opened: Opened[] = [];

  constructor(scheduler: Scheduler, random: Random) {
    this.scheduler = scheduler;
    this.random = random;
  }

  /** A process takes commands at an address, once it has a receiver. */
  listen(address: string, listening: Listening): void {
    this.#listening.set(address, listening);
  }

  /** What happens to messages between two processes. */
  line(one: string, other: string): Line {
    const key = [one, other].toSorted().join();
    const line = this.#lines.get(key) ?? { slowness: 1, silentUntil: 0 };
    this.#lines.set(key, line);
    return line;
  }

  /** Breaks the connections of a process. */
  cut(process: Process): void {
    for (const { ends, cut } of this.#opened.splice(0)) if (ends.includes(process)) cut();
  }

  /** Every message arrives soon. */
  heal(): void {
    for (const line of this.#lines.values()) Object.assign(line, { slowness: 1, silentUntil: 0 });
  }

  /** Opens links from a process; see OpenLink. */
  readonly linksOf =
    (from: Process): OpenLink =>
    (to, listener) => {
      const listening = this.#listening.get(to.address);
      if (listening === undefined || listening.process.isDead) return this.#refused(from, listener);
      return this.#open(from, to, listening, listener);
    };

  #refused(from: Process, listener: LinkListener): Link {
    let isOver = false;
    this.scheduler.after(1, from, () => {
      if (!isOver) listener.ended(new Error('nobody listens there'));
    });
    const close = () => {
      isOver = true;
    };
    return { send: () => {}, finish: () => {}, close };
  }

  #open(from: Process, to: Contact, { process, receiver }: Listening, listener: LinkListener): Link {
    const line = this.line(from.name, process.name);
    const [requests, replies] = [new Pipe(this, line, process), new Pipe(this, line, from)];
    let isOver = false;
    let reception: Reception | undefined;
    const end = (fault: unknown) => {
      if (isOver) return;
      isOver = true;
      listener.ended(fault);
    };
    requests.send(() => {
      const open = receiver();
      if (open?.admits(to.secret) !== true) return replies.send(() => end(new Error('not admitted')));
      reception = open.begin(
        (answers) => replies.send(() => isOver || listener.answered(answers)),
        () => replies.send(() => end(undefined)),
      );
    });
    this.#opened.push({
      ends: [from, process],
      cut: () => {
        this.scheduler.after(0.1, from, () => end(new Error('the connection broke')));
        this.scheduler.after(0.1, process, () => reception?.abandon());
      },
    });
    return {
      send: (batch) => requests.send(() => reception?.receive(batch)),
      finish: () => requests.send(() => reception?.finish()),
      close: () => {
        isOver = true;
        requests.send(() => reception?.abandon());
      },
    };
  }
}
