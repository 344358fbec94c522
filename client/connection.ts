import { ConnectionError, errorOfAnswer, PlantStoreError, UnauthenticatedError } from './errors.ts';

/**
 * A bearer token, or a function that returns one. The client calls the function before each attempt, and again when the
 * service refuses the token. Its time is part of the attempt's. The signal aborts when the attempt ends; a function
 * that has not returned by then ends the call, and so does one that throws.
 */
export type TokenSource = string | ((signal: AbortSignal) => string | Promise<string>);

/** One attempt at a request. */
export interface Attempt {
  readonly method: string;
  /** Appended to the URL of the service, such as `/plants?limit=10`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Ends the attempt for good. */
  readonly signal: AbortSignal | undefined;
  /** Ends the attempt like a lost connection. */
  readonly limit: AbortSignal;
  /** Milliseconds after which `limit` aborts. */
  readonly timeout: number;
}

/** Sends requests with their token. Throws TypeError for an invalid URL or token. */
export class Connection {
  readonly #url: string;
  readonly #token: TokenSource;
  readonly #fetch: typeof fetch;

  constructor(url: string, token: TokenSource, fetcher: typeof fetch) {
    // To a URL parser, localhost:8080 is the path 8080 of the scheme localhost. Behind ? or #, no path can be appended.
    if (!URL.canParse(url) || !/^https?:[^?#]*$/.test(new URL(url).href))
      throw new TypeError(`url must be the http or https address of the service, and is ${JSON.stringify(url)}`);
    if (typeof token !== 'string' && typeof token !== 'function')
      throw new TypeError('token must be a token, or a function that returns one');
    if (typeof token === 'string') checkToken(token);
    if (typeof fetcher !== 'function') throw new TypeError('there is no fetch here: pass one');
    const { href } = new URL(url);
    this.#url = href.endsWith('/') ? href.slice(0, -1) : href;
    this.#token = token;
    this.#fetch = fetcher;
  }

  /**
   * Sends a request, and reads a successful answer with `read`. If the service refuses the token and there is another
   * one now, sends the request again with that one. Throws PlantStoreError; ConnectionError if no complete answer
   * arrived; the reason of the signal; TypeError for an empty token, one with its scheme or one that no header can
   * hold; what the token function throws.
   */
  async send<Value>(attempt: Attempt, read: (answer: Response) => Promise<Value>): Promise<Value> {
    const token = await this.#tokenFor(attempt);
    try {
      return await this.#sendWith(token, attempt, read);
    } catch (error) {
      if (!(error instanceof UnauthenticatedError)) throw error;
      const other = await this.#tokenFor(attempt);
      if (other === token) throw error;
      return await this.#sendWith(other, attempt, read);
    }
  }

  async #tokenFor({ signal, limit }: Attempt): Promise<string> {
    const source = this.#token;
    if (typeof source === 'string') return source;
    const ended = either(signal, limit);
    let end!: () => void;
    const late = new Promise<never>((_, reject) => {
      end = () => reject(signal?.aborted ? signal.reason : new Error('the token function did not return in time'));
    });
    if (ended.aborted) end();
    ended.addEventListener('abort', end);
    try {
      // In a function of its own, so that one that throws at once cannot leave `late` without anybody who waits for it.
      const token = await Promise.race([late, (async () => source(ended))()]);
      if (typeof token !== 'string')
        throw new TypeError(`the token function must return a token, and returned ${String(token)}`);
      checkToken(token);
      return token;
    } finally {
      ended.removeEventListener('abort', end);
    }
  }

  async #sendWith<Value>(
    token: string,
    { method, path, headers, body, signal, limit, timeout }: Attempt,
    read: (answer: Response) => Promise<Value>,
  ): Promise<Value> {
    signal?.throwIfAborted();
    const sent = new Headers({ ...headers, authorization: `Bearer ${token}` });
    const url = this.#url + path;
    try {
      // A browser refuses to call its fetch as a method of another object.
      const fetcher = this.#fetch;
      const answer = await fetcher(url, {
        method,
        headers: sent,
        body: body ?? null,
        cache: 'no-store',
        // A followed one would lose the token, or turn a write into a read.
        redirect: 'manual',
        signal: either(signal, limit),
      });
      if (!answer.ok) throw await errorOfAnswer(answer);
      return await read(answer);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof PlantStoreError || error instanceof ConnectionError) throw error;
      const within = limit.aborted ? ` within ${timeout} ms` : '';
      const advice = adviceFor(url, limit.aborted);
      throw new ConnectionError(`no complete answer arrived from ${url}${within}${advice}`, { cause: error });
    }
  }
}

/** Throws TypeError for a token that the service would not understand. */
function checkToken(token: string): void {
  if (token.trim() === '') throw new TypeError('the token is empty');
  if (/^bearer /i.test(token))
    throw new TypeError('the token begins with "Bearer "; pass the token alone, the client adds it');
  // Headers would throw an error that quotes the token.
  if (/[^\x21-\x7e]/.test(token.trim())) throw new TypeError('the token has characters that no header can hold');
}

/** What a page may look for. A browser tells no script why it withholds the answer of another origin. */
function adviceFor(url: string, isLate: boolean): string {
  const { location, navigator } = globalThis as {
    readonly location?: { readonly origin: string };
    readonly navigator?: { readonly onLine?: boolean };
  };
  if (navigator?.onLine === false) return '; this device is offline';
  if (location === undefined) return '';
  if (isLate) return '; a browser has six HTTP/1.1 connections to a host, and each watch holds one';
  if (location.origin === new URL(url).origin) return '';
  return `; if the service runs there, its CORS_ORIGINS must name ${location.origin}`;
}

const either = (signal: AbortSignal | undefined, limit: AbortSignal): AbortSignal =>
  signal === undefined ? limit : AbortSignal.any([signal, limit]);
