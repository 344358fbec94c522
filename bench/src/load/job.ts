import type { Quantiles, Sample } from './sample.ts';

/** A request and the reply that it must have. `{id}` in its texts stands for the next id. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** JSON. */
  readonly body?: string;
  readonly status: number;
  /** The body of the reply, byte for byte. */
  readonly reply: string;
}

/** Ids from `from` up to, and without, `to`. All have ten digits, so that each request has the same length. */
export interface Ids {
  readonly from: number;
  readonly to: number;
}

/** HTTP requests, one at a time on each connection. */
export interface HttpJob {
  readonly protocol: 'http';
  /** Connections go to them in turns. */
  readonly urls: readonly string[];
  /** Requests take these bearer tokens in turns; an empty one stands for no Authorization header. */
  readonly tokens: readonly string[];
  /** Made in turns. */
  readonly requests: readonly HttpRequest[];
  readonly connections: number;
  /** When no new request is made any more; what is in flight is awaited. */
  readonly seconds: number;
  /** When they are used up the job ends. Taken by requests that have `{id}`. */
  readonly ids?: Ids;
}

/** Unary gRPC calls, so many at a time on one connection. */
export interface GrpcJob {
  readonly protocol: 'grpc';
  /** Host and port. */
  readonly address: string;
  readonly token: string;
  readonly method: 'listPlants' | 'createPlant';
  readonly calls: number;
  readonly seconds: number;
  /**
   * The response in the proto3 JSON mapping, without `position`, which is not compared. `{id}`: the id of the request.
   */
  readonly reply: string;
  /** When they are used up the job ends. Every call takes one. */
  readonly ids: Ids;
}

/** REST as the target of arrivals. */
export interface RestTarget {
  readonly url: string;
  /** Made in turns. */
  readonly requests: readonly Pick<HttpRequest, 'method' | 'path' | 'body'>[];
}

/** A method of gRPC as the target of arrivals. */
export interface GrpcTarget {
  /** Host and port. */
  readonly address: string;
  readonly method: GrpcJob['method'];
}

/** Requests that arrive at a rate, whatever the server makes of those before; without a rate as in HttpJob. */
export interface ArrivalsJob {
  readonly protocol: 'arrivals';
  readonly target: RestTarget | GrpcTarget;
  readonly tokens: readonly string[];
  /** Plants of a list over gRPC. */
  readonly limit: number;
  readonly ids: Pick<Ids, 'from'>;
  /** Process of the server. */
  readonly pid: number;
  /** Most connections; over gRPC, most calls at once. */
  readonly connections: number;
  /** Requests a second. */
  readonly rate?: number;
  /** Seconds of the same load before anything is counted, and seconds that are. */
  readonly warmUp: number;
  readonly seconds: number;
}

/** What became of requests that arrived. */
export interface Arrivals {
  /**
   * Requests a second: all; those that no connection was free for; those that were served; those that were refused
   * (503).
   */
  readonly offered: number;
  readonly unsent: number;
  readonly served: number;
  readonly refused: number;
  /** Requests that were sent and not answered in time. */
  readonly lost: number;
  /** From when a request was to be sent to the end of its answer, of those served and of those refused. */
  readonly latency: Quantiles;
  readonly refusal: Quantiles;
  /** From when a request was to be sent to when it was. */
  readonly lateness: Quantiles;
  /** How busy the server's process was, as a share of one core. */
  readonly server: number;
  /** How busy the client was, as a share of one core. */
  readonly client: number;
}

/** What the generator of load can do, beside arrivals. */
export type Job = HttpJob | GrpcJob;

/** What a job did. */
export interface Done extends Sample {
  /** The first id that no request took. */
  readonly nextId: number;
}
