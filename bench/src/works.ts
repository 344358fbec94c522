/** The side that is ours. */
export const OURS = 'plantstore';
/** Ours with a line in its log for each request. */
export const OURS_LOGGING = 'plantstore, logging';
/** A bare Fastify with its own log, of two lines for each request. */
export const FASTIFY_LOGGING = 'bare Fastify, logging';

/** The works that REST servers are compared in. */
export const REST_WORKS = {
  get20: 'GET 20 plants, 64 connections',
  get1000: 'GET 1,000 plants, 64 connections',
  post64: 'POST, 64 connections',
  delete64: 'DELETE, 64 connections',
  post1: 'POST, 1 connection',
  mix: '90 % GET 20, 10 % POST, 64 connections',
} as const;

/** The works that gRPC servers are compared in. */
export const GRPC_WORKS = { list: 'gRPC, list of 20, 64 calls', add: 'gRPC, add, 64 calls' } as const;

/** The works that the log is compared in with the driver alone, in the bench's own process. */
export const LOG_WORKS = {
  commit: 'Commit path, batches of 64 one after the other (times of a batch)',
  replay: 'Replay of the whole log (times of a pass)',
} as const;

/** The works that several instances on one log are compared in. */
export const INSTANCE_WORKS = {
  adds: 'POST, 64 connections, several instances',
  add: 'POST, 1 connection, 2 instances',
  lists: 'GET 20 plants, strict or not',
} as const;

/** The work in which refusals are measured: our side is a list, and the others are these. */
export const REFUSALS = 'Refusals beside a list of 20, 64 connections';

/** The requests that are refused. */
export const REFUSED = {
  signature: '401 bad signature',
  junk: '401 junk token',
  noToken: '401 no token',
  noPlant: '404 no such plant',
  noRoute: '404 no such path',
  json: '400 malformed JSON',
  field: '400 invalid field',
  query: '400 invalid query',
} as const;

/** The works of a start: until it is ready. A request is one start. */
export const START_WORKS = {
  sqlite: 'Start on SQLite, from spawn to ready',
  mongodb: 'Start on MongoDB, from spawn to ready',
} as const;

/** The side beside which a start is measured. */
export const BARE_IMPORTS = 'bare imports';
