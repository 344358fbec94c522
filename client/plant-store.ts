import { type Attempt, Connection, type TokenSource } from './connection.ts';
import { type ConnectionError, OutcomeUnknownError, type PlantStoreError } from './errors.ts';
import { type Json, parseJson } from './json.ts';
import { exactInteger, type NewPlant, newPlantJson, type Plant, plantOf } from './plant.ts';
import { ATTEMPTS, isConclusive, mayBeApplied, mayRetry, pause, pauseAfter } from './retry.ts';
import { type Change, watch } from './watch.ts';

/** Most milliseconds that the timers of browsers and Node can hold. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** The service to call, and the caller. */
export interface PlantStoreOptions {
  /** Such as `https://plants.example`. */
  readonly url: string;
  readonly token: TokenSource;
  /** Milliseconds that one attempt may take; 30,000 by default. A watch has no limit. */
  readonly timeout?: number | undefined;
  /** Replaces the global fetch. */
  readonly fetch?: typeof fetch | undefined;
}

/** Options of any call. */
export interface CallOptions {
  /** Ends the call, which then throws the signal's reason. A write may still have been done. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a write. */
export interface WriteOptions extends CallOptions {
  /**
   * Your name for this write, for a later retry: 1 to 255 printable ASCII characters. By default the client makes one.
   */
  readonly idempotencyKey?: string | undefined;
}

/** Options of a list. */
export interface ListOptions extends CallOptions {
  /** Plants in each page, at least 1; 1,000 by default. */
  readonly pageSize?: number | undefined;
}

/** Options of a watch. */
export interface WatchOptions extends CallOptions {
  /** Resumes after this position instead of beginning with the state. */
  readonly after?: bigint | number | undefined;
  /**
   * Called when a connection is open, the first one and each that replaces another. The watch is live from then on, or
   * from `ready` on if `reset` came before: whoever was away gets what was missed at once.
   */
  readonly onConnect?: (() => void) | undefined;
  /**
   * Called with the error of each attempt or connection that ended before its time, before the next attempt: a
   * PlantStoreError with its reason, such as TOO_MANY_WATCHES, or a ConnectionError. From then on the watch is not
   * live, until `onConnect` is called.
   */
  readonly onDisconnect?: ((error: PlantStoreError | ConnectionError) => void) | undefined;
}

/** The result of a write. */
export interface Written {
  /** The position of its event in the log. */
  readonly position: bigint;
  /** Whether an earlier request with the same idempotency key did it. */
  readonly replayed: boolean;
}

/**
 * A client of one owner's plants, over REST. Ids are exact. It retries temporary failures, with at most eight attempts
 * in all. It retries writes under one idempotency key, so each write is done once.
 */
export class PlantStore {
  readonly #connection: Connection;
  readonly #timeout: number;

  /** Throws TypeError for a url, a token or a fetch that is missing or wrong, and RangeError for such a timeout. */
  constructor(options: PlantStoreOptions) {
    if (options === undefined) throw new TypeError('the options are missing: url and token');
    const { url, token, timeout = 30_000, fetch = globalThis.fetch } = options;
    if (!Number.isInteger(timeout) || timeout < 1 || timeout > LONGEST_TIMEOUT)
      throw new RangeError(
        `timeout must be an integer from 1 to ${LONGEST_TIMEOUT}, in milliseconds, and is ${timeout}`,
      );
    this.#connection = new Connection(url, token, fetch);
    this.#timeout = timeout;
  }

  /** Adds a plant. Throws PlantAlreadyExistsError; OutcomeUnknownError if the plant may have been added. */
  async add(plant: NewPlant, options: WriteOptions = {}): Promise<Written> {
    const headers = { 'content-type': 'application/json' };
    return await this.#write({ method: 'POST', path: '/plants', headers, body: newPlantJson(plant) }, options);
  }

  /** Deletes a plant. Throws PlantNotFoundError; OutcomeUnknownError if the plant may have been deleted. */
  async delete(id: bigint | number, options: WriteOptions = {}): Promise<Written> {
    return await this.#write({ method: 'DELETE', path: `/plants/${exactInteger('id', id)}` }, options);
  }

  /** The plant with an id. Throws PlantNotFoundError. */
  async get(id: bigint | number, { signal }: CallOptions = {}): Promise<Plant> {
    const path = `/plants/${exactInteger('id', id)}?view=FULL`;
    return await this.#send({ method: 'GET', path }, async (answer) => plantOf(parseJson(await answer.text())), signal);
  }

  /**
   * All plants in ascending id. Skips and repeats no plant while others add and delete. Throws RangeError for
   * a pageSize below 1.
   */
  async *list({ pageSize = 1_000, signal }: ListOptions = {}): AsyncGenerator<Plant, void> {
    // The service answers a page of 0 with nothing, which would read as having no plants.
    if (!(pageSize >= 1)) throw new RangeError(`pageSize must be at least 1, and is ${pageSize}`);
    let next: string | undefined = `?view=FULL&limit=${pageSize}`;
    while (next !== undefined) {
      const request: Request = { method: 'GET', path: `/plants${next}` };
      const page: Page = await this.#send(request, pageOf, signal);
      yield* page.plants;
      next = page.next;
    }
  }

  /**
   * The current plants and then every change to them, until the signal aborts or the caller stops, with `break` or
   * `return()`. `reset` comes first, before the service has answered. It replaces a lost connection and resumes where
   * it broke, without gaps or repetitions; `onDisconnect` and `onConnect` tell of each. Throws only errors that no new
   * connection can solve, and those of the token function. Share one watch in a page: each holds one of the six
   * connections that a browser has to a host.
   */
  watch({ after, signal, onConnect, onDisconnect }: WatchOptions = {}): AsyncGenerator<Change, void> {
    return watch(this.#connection, after === undefined ? undefined : exactInteger('after', after), signal, {
      onConnect,
      onDisconnect,
    });
  }

  async #write(request: Request, { idempotencyKey = newKey(), signal }: WriteOptions): Promise<Written> {
    const headers = { ...request.headers, 'idempotency-key': quoted(idempotencyKey) };
    let unknown = false;
    try {
      return await this.#send({ ...request, headers }, writtenOf, signal, (error) => {
        unknown ||= mayBeApplied(error);
      });
    } catch (error) {
      signal?.throwIfAborted();
      if (unknown && !isConclusive(error)) throw new OutcomeUnknownError(idempotencyKey, { cause: error });
      throw error;
    }
  }

  /** Sends a request until it succeeds, fails for good, or has used up its attempts. */
  async #send<Value>(
    request: Request,
    read: (answer: Response) => Promise<Value>,
    signal: AbortSignal | undefined,
    onFailure: (error: unknown) => void = () => {},
  ): Promise<Value> {
    for (let failures = 0; ; ) {
      try {
        const timeout = this.#timeout;
        const limit = AbortSignal.timeout(timeout);
        return await this.#connection.send({ ...request, signal, limit, timeout }, read);
      } catch (error) {
        onFailure(error);
        if (++failures === ATTEMPTS || !mayRetry(error)) throw error;
        await pause(pauseAfter(failures, error), signal);
      }
    }
  }
}

type Request = Pick<Attempt, 'method' | 'path' | 'headers' | 'body'>;

interface Page {
  readonly plants: readonly Plant[];
  /** The query of the next page. */
  readonly next: string | undefined;
}

async function pageOf(answer: Response): Promise<Page> {
  const plants = (parseJson(await answer.text()) as readonly Json[]).map(plantOf);
  const next = /<[^>?]*(\?[^>]*)>; *rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
  return { plants, next };
}

async function writtenOf(answer: Response): Promise<Written> {
  const { headers } = answer;
  // fetch reuses a connection only once its answer has been read.
  await answer.text();
  const position = headers.get('plantstore-position');
  if (position === null) throw new TypeError('the answer has no Plantstore-Position');
  return { position: BigInt(position), replayed: headers.get('idempotency-replayed') === 'true' };
}

/** A random key. Pages without TLS have no crypto.randomUUID. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The key as a string of Structured Fields (RFC 9651, section 3.3.3). Throws RangeError for an invalid key. */
function quoted(key: string): string {
  if (!/^[ -~]{1,255}$/.test(key)) throw new RangeError('an idempotency key is 1 to 255 characters of printable ASCII');
  return `"${key.replaceAll(/["\\]/g, '\\$&')}"`;
}
