import { type Bytes, concat, textOf } from './bytes.ts';
import { HASH_SIZE } from './hash.ts';
import { NotVerified } from './outcome.ts';
import { entriesPath, type Tile, tilePath } from './tile.ts';

/** Where a log is read from. Nothing that it gives is believed. All of it rejects with NotVerified when it gives nothing. */
export interface LogSource {
  /** The vkey that it says the log has. */
  key(): Promise<string>;
  /** Its newest checkpoint: a signed note. */
  checkpoint(): Promise<string>;
  tile(tile: Tile): Promise<Bytes>;
  /** The entry bundle of a width. */
  entries(index: number, width: number): Promise<Bytes>;
}

/** Most bytes of a checkpoint or a key that are read. */
const MAX_TEXT = 100_000;
const MAX_ENTRY = 2 + 0xffff;

/** Milliseconds that an answer may take. */
const TIMEOUT = 20_000;
/** How often, and after how many milliseconds, a service is asked again that has too much to do. */
const RETRIES = 3;
const RETRY_AFTER = 1_000;

/** The log of a service, by the prefix of its tiles, such as `/log`. The signal ends what is asked for. */
export function httpSource(prefix: string, signal?: AbortSignal): LogSource {
  // Past the browser's cache: what is proved is what the service hands out now, and a wrong tile must not stay for a year.
  const get = (path: string, limit: number) =>
    fetchBytes(`${prefix}/${path}`, path, limit, { cache: 'no-store', ...(signal && { signal }) });
  const getText = async (path: string) => {
    try {
      return textOf(await get(path, MAX_TEXT));
    } catch (error) {
      throw error instanceof TypeError ? new NotVerified(`What the service hands out as ${path} is no text.`) : error;
    }
  };
  return {
    key: async () => (await getText('key')).trimEnd(),
    checkpoint: () => getText('checkpoint'),
    tile: (tile) => get(tilePath(tile), tile.width * HASH_SIZE),
    entries: (index, width) => get(entriesPath(index, width), width * MAX_ENTRY),
  };
}

async function fetchBytes(url: string, path: string, limit: number, options: RequestInit): Promise<Bytes> {
  for (let retries = RETRIES; ; retries--) {
    const timeout = AbortSignal.timeout(TIMEOUT);
    const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
    try {
      const response = await fetch(url, { ...options, signal, credentials: 'omit' });
      if (response.ok) return await readAtMost(response, limit, path);
      await response.body?.cancel();
      if (response.status !== 503 || retries === 0)
        throw new NotVerified(
          `The service withholds ${path}: it answers ${response.status}. Nothing is proved without it.`,
        );
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof NotVerified) throw error;
      const why = timeout.aborted ? `it does not answer within ${TIMEOUT / 1_000} s` : 'it cannot be reached';
      throw new NotVerified(`The service does not give ${path}: ${why}. Nothing is proved without it.`, error);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER));
  }
}

async function readAtMost(response: Response, limit: number, path: string): Promise<Bytes> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const reader = response.body!.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return concat(parts);
    parts.push(value);
    length += value.length;
    if (length > limit) {
      await reader.cancel();
      throw new NotVerified(`What the service hands out as ${path} is longer than it can be.`);
    }
  }
}
