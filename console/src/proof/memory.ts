import { NotVerified } from './outcome.ts';

/** What a browser remembers of a log. */
export interface RememberedLog {
  readonly origin: string;
  /** The key that it trusts. */
  readonly vkey: string;
  /** When it saw that key first, in milliseconds since 1970. */
  readonly trustedSince: number;
  /** The last checkpoint that it verified: a signed note, and its size. */
  readonly checkpoint: string;
  readonly size: number;
  /** When it verified that, in milliseconds since 1970. */
  readonly seenAt: number;
}

/** Where texts are kept by name: localStorage, or something like it. */
export type TextStorage = Pick<Storage, 'getItem' | 'setItem'>;

const LOGS = 'plantstore.proof.logs';
const WITNESSES = 'plantstore.proof.witnesses';

const isRememberedLog = (value: unknown): value is RememberedLog => {
  const { origin, vkey, trustedSince, checkpoint, size, seenAt } = (value ?? {}) as Record<
    keyof RememberedLog,
    unknown
  >;
  return (
    [origin, vkey, checkpoint].every((text) => typeof text === 'string') &&
    [trustedSince, size, seenAt].every((number) => typeof number === 'number')
  );
};

/** What a browser remembers of the logs that it has seen, and of the witnesses that its user trusts. */
export class Memory {
  readonly #storage: TextStorage;

  constructor(storage: TextStorage) {
    this.#storage = storage;
  }

  /** Every log, the one seen last first. Throws when what is kept is damaged: that must not pass for nothing. */
  logs(): RememberedLog[] {
    const logs = this.#kept(LOGS, isRememberedLog);
    return logs.toSorted((one, other) => other.seenAt - one.seenAt);
  }

  /** The log of an origin, if it is remembered. */
  log(origin: string): RememberedLog | undefined {
    return this.logs().find((log) => log.origin === origin);
  }

  /** Remembers a log as it is now. A checkpoint that is smaller than the one that is remembered of the same key is passed over. */
  remember(log: RememberedLog): void {
    const known = this.log(log.origin);
    if (known !== undefined && known.vkey === log.vkey && known.size > log.size) return;
    this.#keep([log, ...this.#others(log.origin)]);
  }

  /** Forgets a log, and so trusts what it shows next. */
  forget(origin: string): void {
    this.#keep(this.#others(origin));
  }

  /** The vkeys of witnesses that are trusted. Throws when what is kept is damaged. */
  witnesses(): string[] {
    return this.#kept(WITNESSES, (vkey) => typeof vkey === 'string');
  }

  /** Forgets everything. */
  clear(): void {
    this.#keep([]);
    this.trustWitnesses([]);
  }

  /** Trusts these witnesses, and no others. */
  trustWitnesses(vkeys: readonly string[]): void {
    this.#storage.setItem(WITNESSES, JSON.stringify(vkeys));
  }

  #kept<Value>(name: string, isOne: (value: unknown) => value is Value): Value[] {
    try {
      const values: unknown = JSON.parse(this.#storage.getItem(name) ?? '[]');
      if (Array.isArray(values) && values.every(isOne)) return values;
    } catch {
      // No JSON: damaged, too.
    }
    throw new NotVerified(
      'What this browser remembers of logs and witnesses is damaged, so that nothing can be compared with it.',
    );
  }

  #others(origin: string): RememberedLog[] {
    return this.logs().filter((log) => log.origin !== origin);
  }

  #keep(logs: readonly RememberedLog[]): void {
    this.#storage.setItem(LOGS, JSON.stringify(logs));
  }
}
