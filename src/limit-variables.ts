import { z } from 'zod';

const whole = (minimum: number, maximum: number) => ({
  schema: z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum),
  expected: `a whole number from ${minimum} to ${maximum}`,
});

/** So that one owner's largest batch of requests, and the events that they become, fit in their shares. */
const MIN_MEMORY = 32 * 1024 * 1024;

/** The variables that bound what callers can make the service hold or wait for. Whatever exceeds a bound is refused. */
export const LIMIT_VARIABLES = {
  MEMORY: {
    schema: z
      .string()
      .regex(/^\d{1,13}$/)
      .transform(Number)
      .refine((value) => value >= MIN_MEMORY),
    expected: `a whole number of bytes, ${MIN_MEMORY} or more`,
    meaning:
      "bytes of memory that requests under way, new events, lists and events for watches that resume may take together; unset: half of V8's heap limit",
  },
  MAX_IN_FLIGHT: {
    ...whole(1, 100_000),
    fallback: '1024',
    meaning: 'requests that are served at once, over all protocols, a quarter of them for one owner; further ones wait',
  },
  MAX_WAIT: {
    ...whole(0, 60_000),
    fallback: '500',
    meaning:
      'milliseconds that a request may wait for the CPU, and again for others to be served, before it is refused',
  },
  MAX_QUEUED_COMMANDS: {
    ...whole(1, 100_000),
    fallback: '8192',
    meaning: 'adds and deletes that may wait for the store; further ones are refused',
  },
  MAX_LONG_LISTS: {
    ...whole(1, 10_000),
    fallback: '32',
    meaning: 'lists over 1 MiB (about 2500 plants) that one owner may read at once',
  },
  MAX_WATCHES: {
    ...whole(0, 1_000_000),
    fallback: '10000',
    meaning: 'watches at once, over all protocols; further ones are refused',
  },
  MAX_OWNER_WATCHES: {
    ...whole(1, 100_000),
    fallback: '16',
    meaning: 'watches at once of one owner; further ones are refused',
  },
  MAX_CONNECTIONS: {
    ...whole(1, 1_000_000),
    fallback: '10000',
    meaning: 'connections to each of PORT and GRPC_PORT; further ones are closed immediately',
  },
  REQUEST_TIMEOUT: {
    ...whole(1, 3_600),
    fallback: '50',
    meaning: 'seconds within which a whole request must arrive; its headers have 20',
  },
  IDLE_TIMEOUT: {
    ...whole(1, 3_600),
    fallback: '55',
    meaning: 'seconds after which a connection is closed if it sends nothing, or reads nothing of its response',
  },
  DRAIN_GRACE: {
    ...whole(0, 600),
    fallback: '1',
    meaning: 'seconds after SIGTERM in which the service is unready and still serves, so that load balancers notice',
  },
} as const;
