import { concat } from '../../../src/tlog/bytes.ts';
import { HASH_SIZE } from '../../../src/tlog/hash.ts';
import { entriesPath, MAX_ENTRY, type TileReader, tilePath } from '../../../src/tlog/tile.ts';
import { NotVerified, orNotVerified } from './outcome.ts';

/** The source of a log, which is not trusted. Every method rejects with NotVerified if the source gives nothing. */
export interface LogSource extends TileReader {
  /** The log's vkey, according to the source. */
  key(): Promise<string>;
  /** Its newest checkpoint: a signed note. */
  checkpoint(): Promise<string>;
  /** The entry bundle of a width. */
  entries(index: number, width: number): Promise<Uint8Array>;
}

/** Most bytes of a checkpoint or a key. */
const MAX_TEXT = 100_000;

/** Milliseconds that an answer may take. */
const TIMEOUT = 20_000;
/** How often, and after how many milliseconds, the page retries when the service is overloaded. */
const RETRIES = 3;
const RETRY_AFTER = 1_000;

/** The text in UTF-8 bytes, including a byte order mark. Throws if they are not UTF-8. */
export const textOf = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);

/** The log of a service, by the prefix of its tiles, such as `/log`. The signal ends the requests. */
export function httpSource(prefix: string, signal?: AbortSignal): LogSource {
  // Bypasses the cache: the proof is about what the service serves now, and a wrong tile must not stay for a year.
  const get = (path: string, limit: number) =>
    fetchBytes(`${prefix}/${path}`, path, limit, { cache: 'no-store', ...(signal && { signal }) });
  const getText = async (path: string) => {
    const bytes = await get(path, MAX_TEXT);
    return orNotVerified(
      () => textOf(bytes),
      () => `The service sent ${path} as something other than text.`,
    );
  };
  return {
    key: async () => (await getText('key')).trimEnd(),
    checkpoint: () => getText('checkpoint'),
    readTile: (tile) => get(tilePath(tile), tile.width * HASH_SIZE),
    entries: (index, width) => get(entriesPath(index, width), width * (2 + MAX_ENTRY)),
  };
}

async function fetchBytes(url: string, path: string, limit: number, options: RequestInit): Promise<Uint8Array> {
  for (let retries = RETRIES; ; retries--) {
    const timeout = AbortSignal.timeout(TIMEOUT);
    const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
    try {
      const response = await fetch(url, { ...options, signal, credentials: 'omit' });
      if (response.ok) return await readAtMost(response, limit, path);
      await response.body?.cancel();
      if (response.status !== 503 || retries === 0)
        throw new NotVerified(
          `The service withholds ${path}: it answers ${response.status}. Without it nothing is proved.`,
        );
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof NotVerified) throw error;
      const why = timeout.aborted ? `it does not answer within ${TIMEOUT / 1_000} s` : 'it cannot be reached';
      throw new NotVerified(`The service does not send ${path}: ${why}. Without it nothing is proved.`, error);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER));
  }
}

async function readAtMost(response: Response, limit: number, path: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const reader = response.body!.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return concat(...parts);
    parts.push(value);
    length += value.length;
    if (length > limit) {
      await reader.cancel();
      throw new NotVerified(`The service sent a ${path} that is too long.`);
    }
  }
}
