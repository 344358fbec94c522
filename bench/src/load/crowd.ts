import { connect, type Socket } from 'node:net';
import type { Attacked } from './attack.ts';

/** Counts something that an attacker got. */
export type Count = (what: string) => void;

/** What one attacker does. */
export interface Attack {
  readonly port: number;
  /** Connections at once. One that the service closes is opened anew. */
  readonly connections: number;
  /** Talks on a connection that is open. */
  talk(socket: Socket, count: Count): void;
}

/** Connections that are opened anew a second at most: within a minute, fewer than there are ports. */
const RATE = 1_000;
/** Milliseconds between two looks at how many are missing. */
const FILL_INTERVAL = 10;

/** The connections of an attack. */
export class Crowd {
  readonly #attack: Attack;
  readonly #open = new Set<Socket>();
  readonly #counts: Record<string, number> = {};
  readonly #timer: NodeJS.Timeout;
  readonly #begun = performance.now();
  #tried = 0;

  constructor(attack: Attack) {
    this.#attack = attack;
    this.#timer = setInterval(() => this.#fill(), FILL_INTERVAL);
  }

  /** Resets all connections: one that is closed would keep its port for a minute. */
  end(): Attacked {
    clearInterval(this.#timer);
    const counts = { ...this.#counts };
    for (const socket of this.#open) socket.resetAndDestroy();
    return counts;
  }

  #fill(): void {
    const { connections } = this.#attack;
    const due = connections + ((performance.now() - this.#begun) / 1_000) * RATE;
    while (this.#open.size < connections && this.#tried < due) this.#connect();
  }

  #connect(): void {
    this.#tried++;
    const socket = connect({ host: '127.0.0.1', port: this.#attack.port, noDelay: true });
    this.#open.add(socket);
    socket
      .on('connect', () => {
        this.#count('opened');
        this.#attack.talk(socket, this.#count);
        socket.on('close', () => this.#count('closed'));
      })
      .on('error', () => {})
      .on('close', () => this.#open.delete(socket));
  }

  readonly #count: Count = (what) => {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1;
  };
}
