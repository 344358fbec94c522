import { NotVerified } from './outcome.ts';

/** What a browser remembers of a log. */
export interface RememberedLog {
  readonly origin: string;
  /** The key that it trusts. */
  readonly vkey: string;
  /** When it first saw that key, in milliseconds since 1970. */
  readonly trustedSince: number;
  /** The last verified checkpoint: a signed note, and its size. */
  readonly checkpoint: string;
  readonly size: number;
  /** When it verified that, in milliseconds since 1970. */
  readonly seenAt: number;
}

/** A store of texts by name, such as localStorage. */
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

  /** Every log, the last seen first. Throws if the stored text is damaged, which must not count as empty. */
  logs(): RememberedLog[] {
    const logs = this.#kept(LOGS, isRememberedLog);
    return logs.toSorted((one, other) => other.seenAt - one.seenAt);
  }

  /** The log of an origin, if it is remembered. */
  log(origin: string): RememberedLog | undefined {
    return this.logs().find((log) => log.origin === origin);
  }

  /** Remembers a log as it is now. Ignores a checkpoint that is smaller than the remembered one of the same key. */
  remember(log: RememberedLog): void {
    const known = this.log(log.origin);
    if (known !== undefined && known.vkey === log.vkey && known.size > log.size) return;
    this.#keep([log, ...this.#others(log.origin)]);
  }

  /** Forgets a log, and so trusts the key that it shows next. */
  forget(origin: string): void {
    this.#keep(this.#others(origin));
  }

  /** The vkeys of trusted witnesses. Throws if the stored text is damaged. */
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
      // Text that is not JSON is damaged, too.
    }
    throw new NotVerified(
      'What this browser remembers of logs and witnesses is damaged, so nothing can be compared with it.',
    );
  }

  #others(origin: string): RememberedLog[] {
    return this.logs().filter((log) => log.origin !== origin);
  }

  #keep(logs: readonly RememberedLog[]): void {
    this.#storage.setItem(LOGS, JSON.stringify(logs));
  }
}
