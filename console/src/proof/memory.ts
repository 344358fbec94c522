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

/** What a browser remembers of the logs that it has seen, and of the witnesses that its user trusts. */
export class Memory {
  readonly #storage: TextStorage;

  constructor(storage: TextStorage) {
    this.#storage = storage;
  }

  /** Every log, the one seen last first. Throws when what is kept is damaged. */
  logs(): RememberedLog[] {
    const logs = JSON.parse(this.#storage.getItem(LOGS) ?? '[]') as RememberedLog[];
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

  /** The vkeys of witnesses that are trusted. */
  witnesses(): string[] {
    return JSON.parse(this.#storage.getItem(WITNESSES) ?? '[]') as string[];
  }

  /** Trusts these witnesses, and no others. */
  trustWitnesses(vkeys: readonly string[]): void {
    this.#storage.setItem(WITNESSES, JSON.stringify(vkeys));
  }

  #others(origin: string): RememberedLog[] {
    return this.logs().filter((log) => log.origin !== origin);
  }

  #keep(logs: readonly RememberedLog[]): void {
    this.#storage.setItem(LOGS, JSON.stringify(logs));
  }
}
