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
    meaning: 'requests at once, over all protocols; more are refused before their token is looked at',
  },
  MAX_EVENT_LOOP_DELAY: {
    ...whole(10, 60_000),
    fallback: '250',
    meaning: 'milliseconds that requests may wait for the CPU; while they wait longer, some are refused at once',
  },
  DRAIN_GRACE: {
    ...whole(0, 600),
    fallback: '1',
    meaning: 'seconds on SIGTERM in which it is unready and still serves, so that balancers can notice',
  },
} as const;
