import { z } from 'zod';

const whole = (minimum: number, maximum: number) => ({
  schema: z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum),
  expected: `a whole number from ${minimum} to ${maximum}`,
});

/** The variables that bound what callers can make the service hold or wait for. What goes beyond gets an error that says so. */
export const LIMIT_VARIABLES = {
  MAX_IN_FLIGHT: {
    ...whole(1, 100_000),
    fallback: '1024',
    meaning: 'requests at once, over all protocols; more wait before their token is looked at',
  },
  MAX_WAIT: {
    ...whole(0, 60_000),
    fallback: '500',
    meaning: 'milliseconds that a request may wait for room or for the CPU; then it is refused',
  },
  MAX_QUEUED_COMMANDS: {
    ...whole(1, 100_000),
    fallback: '8192',
    meaning: 'adds and deletes that wait for the store; more are refused',
  },
  MAX_LONG_LISTS: {
    ...whole(1, 10_000),
    fallback: '32',
    meaning: 'lists of more than 1 MiB, some 2500 plants, that one owner may be reading at once',
  },
  MAX_WATCHES: {
    ...whole(0, 1_000_000),
    fallback: '10000',
    meaning: 'streams of changes at once, over all protocols; more are refused',
  },
  MAX_OWNER_WATCHES: {
    ...whole(1, 100_000),
    fallback: '16',
    meaning: 'of these, of one owner; more are refused',
  },
  MAX_CONNECTIONS: {
    ...whole(1, 1_000_000),
    fallback: '10000',
    meaning: 'connections to each of PORT and GRPC_PORT; more are closed at once',
  },
  REQUEST_TIMEOUT: {
    ...whole(1, 3_600),
    fallback: '50',
    meaning: 'seconds in which a request must have arrived whole, its headers in 20 of them',
  },
  IDLE_TIMEOUT: {
    ...whole(1, 3_600),
    fallback: '55',
    meaning: 'seconds after which a connection is closed that says nothing, or takes nothing of its answer',
  },
  DRAIN_GRACE: {
    ...whole(0, 600),
    fallback: '1',
    meaning: 'seconds on SIGTERM in which it is unready and still serves, so that balancers can notice',
  },
} as const;
