import { createPrivateKey, type KeyObject } from 'node:crypto';
import { EMPTY_ROOT } from '../../../src/tlog/hash.ts';
import { cosigner } from '../../../src/tlog/signer.ts';
import type { TileReader } from '../../../src/tlog/tile.ts';
import type { VerifierKey } from '../../../src/tlog/verifier-key.ts';
import { type Post, WitnessClient, type WitnessResponse } from '../../../src/transparency/witness-client.ts';
import { type Cosigned, Witness } from '../../../src/witness/witness.ts';
import { EPOCH, type Process } from './process.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** The private key of each of the most witnesses of a history. */
const KEYS: readonly KeyObject[] = [1, 2, 3].map((number) =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, number)]),
    format: 'der',
    type: 'pkcs8',
  }),
);

/** Most witnesses of a history. */
export const MOST_WITNESSES = KEYS.length;

/** How often a request goes wrong. */
const FAULTS = 0.03;

/** What a witness has cosigned last. It outlasts everything. */
class MemoryRecords {
  #last: Cosigned = { size: 0, root: EMPTY_ROOT, note: '' };

  last(): Cosigned {
    return this.#last;
  }

  replace(_: string, last: Cosigned, next: Cosigned): boolean {
    if (last.size !== this.#last.size) return false;
    this.#last = next;
    return true;
  }
}

interface Reached {
  readonly witness: Witness;
  readonly key: VerifierKey;
  /** Until then nobody reaches it. */
  awayUntil: number;
}

/** Witnesses as the service's own, at the other end of a network on which requests get lost. */
export class Witnesses {
  readonly verifiers: readonly VerifierKey[];
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #reached = new Map<string, Reached>();
  #isCalm = false;

  /** `logKey`: the key of the log. */
  constructor(scheduler: Scheduler, random: Random, count: number, logKey: VerifierKey) {
    this.#scheduler = scheduler;
    this.#random = random;
    for (const [index, privateKey] of KEYS.slice(0, count).entries()) {
      const name = `witness-${index}`;
      const signer = cosigner(name, privateKey, () => EPOCH + scheduler.now);
      const witness = new Witness(signer, [logKey], new MemoryRecords(), () => {});
      this.#reached.set(name, { witness, key: signer.key, awayUntil: 0 });
    }
    this.verifiers = [...this.#reached.values()].map(({ key }) => key);
  }

  /** Clients of all witnesses in a process. */
  clients(process: Process, tree: TileReader): WitnessClient[] {
    return [...this.#reached.values()].map(({ key }) => {
      const url = new URL(`https://${key.name}`);
      return new WitnessClient({ url, key }, tree, (endpoint, body, signal) =>
        this.#post(process, new URL(endpoint).host, body, signal),
      );
    });
  }

  /** Nobody reaches a witness for a time. */
  away(number: number, milliseconds: number): void {
    const reached = [...this.#reached.values()][number % this.#reached.size]!;
    reached.awayUntil = this.#scheduler.now + milliseconds;
  }

  /** Every request is answered. */
  heal(): void {
    this.#isCalm = true;
    for (const reached of this.#reached.values()) reached.awayUntil = 0;
  }

  #post(process: Process, name: string, body: string, signal: AbortSignal): ReturnType<Post> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<WitnessResponse>();
    const reached = this.#reached.get(name)!;
    const random = this.#random;
    const way = () => (random.chance(0.05) ? random.scaled(100, 10_000) : random.scaled(0.1, 50));
    const fault = !this.#isCalm && random.chance(FAULTS) ? random.one(['refused', 'silent', 'lost'] as const) : 'none';
    signal.addEventListener('abort', () => reject(signal.reason));
    this.#scheduler.after(way(), undefined, () => {
      // Whoever is away says so, or nothing.
      const isAway = reached.awayUntil > this.#scheduler.now;
      if (fault === 'silent' || (isAway && random.chance(0.5))) return;
      const response = isAway || fault === 'refused' ? undefined : reached.witness.addCheckpoint(body);
      this.#scheduler.after(way(), process, () => {
        if (response === undefined || fault === 'lost') reject(new Error(`${name} cannot be reached`));
        else resolve(response);
      });
    });
    return promise;
  }
}
