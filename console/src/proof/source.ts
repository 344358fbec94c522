import { entriesPath, type TileReader, tilePath } from '../../../src/tlog/tile.ts';
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
  const get = (path: string) => fetchBytes(prefix, path, signal);
  const getText = async (path: string) => {
    const bytes = await get(path);
    return orNotVerified(
      () => textOf(bytes),
      () => `The service sent ${path} as something other than text.`,
    );
  };
  return {
    key: async () => (await getText('key')).trimEnd(),
    checkpoint: () => getText('checkpoint'),
    readTile: (tile) => get(tilePath(tile)),
    entries: (index, width) => get(entriesPath(index, width)),
  };
}

async function fetchBytes(prefix: string, path: string, ended = new AbortController().signal): Promise<Uint8Array> {
  for (let retries = RETRIES; ; retries--) {
    const timeout = AbortSignal.timeout(TIMEOUT);
    const signal = AbortSignal.any([ended, timeout]);
    try {
      // Bypasses the cache: the proof is about what the service serves now, and a wrong tile must not stay for a year.
      const response = await fetch(`${prefix}/${path}`, { signal, cache: 'no-store', credentials: 'omit' });
      if (response.ok) return new Uint8Array(await response.arrayBuffer());
      await response.body?.cancel();
      if (response.status !== 503 || retries === 0)
        throw new NotVerified(
          `The service withholds ${path}: it answers ${response.status}. Without it nothing is proved.`,
        );
    } catch (error) {
      ended.throwIfAborted();
      if (error instanceof NotVerified) throw error;
      const why = timeout.aborted ? `it does not answer within ${TIMEOUT / 1_000} s` : 'it cannot be reached';
      throw new NotVerified(`The service does not send ${path}: ${why}. Without it nothing is proved.`, error);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER));
  }
}
