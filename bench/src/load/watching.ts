import type { Quantiles } from './sample.ts';

/** Opens event streams, to the tokens in turns. */
export interface OpenStreams {
  readonly type: 'open';
  readonly url: string;
  readonly tokens: readonly string[];
  readonly count: number;
}

/** Adds a plant with a token again and again, and notes when it came to some of the streams, which are this owner's. */
export interface Probe {
  readonly type: 'probe';
  readonly token: string;
  /** The first id of the plants. */
  readonly from: number;
  readonly seconds: number;
  /** Milliseconds between two adds. */
  readonly every: number;
}

/** What the process that watches can be told. */
export type WatchersJob = OpenStreams | Probe | { readonly type: 'received' } | { readonly type: 'close' };

/** What the streams had, since they were opened. */
export interface Received {
  /** Bytes, of all streams. */
  readonly bytes: number;
  /** Times that a stream's bytes were read. */
  readonly reads: number;
  /** Streams that were closed by the server. */
  readonly closed: number;
  /** Whether each stream had the same bytes as each other since all of them were open. */
  readonly isSame: boolean;
}

/** What became of probes. */
export interface Probed {
  readonly probes: number;
  /** From when an add was sent to when it came to a stream, in milliseconds. */
  readonly times: Quantiles;
  /** From when an add was sent to its answer. */
  readonly answers: Quantiles;
}
