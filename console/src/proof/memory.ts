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

/** A list: releases before this one remembered several, the last seen first. */
const LOGS = 'plantstore.proof.logs';
const WITNESSES = 'plantstore.proof.witnesses';

const MEMBERS: Readonly<Record<keyof RememberedLog, 'string' | 'number'>> = {
  ...{ origin: 'string', vkey: 'string', trustedSince: 'number' },
  ...{ checkpoint: 'string', size: 'number', seenAt: 'number' },
};

const isRememberedLog = (value: unknown): value is RememberedLog =>
  Object.entries(MEMBERS).every(([name, type]) => typeof (value as Record<string, unknown> | null)?.[name] === type);

/** What a browser remembers of the log at this address, and of the witnesses that its user trusts. */
export class Memory {
  readonly #storage: TextStorage;

  constructor(storage: TextStorage) {
    this.#storage = storage;
  }

  /** The log, if one was seen. Throws if the stored text is damaged, which must not count as none. */
  log(): RememberedLog | undefined {
    return this.#kept(LOGS, isRememberedLog)[0];
  }

  /** Remembers the log as it is now. Ignores another log or key than the remembered one, and a smaller checkpoint. */
  remember(log: RememberedLog): void {
    const known = this.log();
    if (known !== undefined && (known.origin !== log.origin || known.vkey !== log.vkey || known.size > log.size))
      return;
    this.#keep(LOGS, [log]);
  }

  /** Forgets the log, and so trusts the one that is shown next, and its key. */
  forget(): void {
    this.#keep(LOGS, []);
  }

  /** The vkeys of trusted witnesses. Throws if the stored text is damaged. */
  witnesses(): string[] {
    return this.#kept(WITNESSES, (vkey) => typeof vkey === 'string');
  }

  /** Trusts these witnesses, and no others. */
  trustWitnesses(vkeys: readonly string[]): void {
    this.#keep(WITNESSES, vkeys);
  }

  #kept<Value>(name: string, isOne: (value: unknown) => value is Value): Value[] {
    try {
      const values: unknown = JSON.parse(this.#storage.getItem(name) ?? '[]');
      if (Array.isArray(values) && values.every(isOne)) return values;
    } catch {
      // Text that is not JSON is damaged, too.
    }
    throw new NotVerified(
      'What this browser remembers of the log and of witnesses is damaged, so nothing can be compared with it.',
    );
  }

  #keep(name: string, values: readonly unknown[]): void {
    this.#storage.setItem(name, JSON.stringify(values));
  }
}
