import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';

const REDACTED = '[redacted]';

/** What is cut out of a line, and what stands there instead. Each is linear in the line: callers choose a part of it. */
const TOKENS: readonly (readonly [RegExp, string])[] = [
  // A JWT wherever it stands, with what it hangs on by a hyphen. It is looked for once for each run of its characters, and only
  // where two points follow: from each "ey" of a run without them, the search would go to the end of the run again.
  [/(?<![\w-])(?=[\w-]+\.[\w-]+\.)(?:[\w-]*-)?ey[\w-]+\.[\w-]+\.[\w-]*/gi, REDACTED],
  // Any other bearer token in a query (RFC 6750, section 2.3) or in a header (section 2.1).
  [/(\baccess_token=)[^&\s"\\]+/gi, `$1${REDACTED}`],
  // "Bearer" in a challenge is followed by short parameter names and stays readable.
  [/(\bBearer +)[\w.~+/-]{16,}=*/gi, `$1${REDACTED}`],
];

// Whatever has a token has one of these; most lines have none, and are spared the search.
const MAYBE_TOKENS = /ey|bearer|access_token/i;

/** A logger of the service. Passed to Fastify as `loggerInstance`, it logs requests without their headers. */
export type { Logger } from 'pino';

/**
 * Makes the service's logger: JSON lines, one object each with `level` (a word), `time` (ISO 8601, UTC) and `msg`.
 * No line holds a token, whatever object, message or error it came in with.
 */
export function createLogger(level: string, destination: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: {
      req: (request: { method: string; url: string; ip?: string }) => ({
        method: request.method,
        url: request.url,
        remoteAddress: request.ip,
      }),
      res: (response: { statusCode: number }) => ({ statusCode: response.statusCode }),
      err: stdSerializers.err,
    },
    redact: { paths: ['headers', '*.headers'].flatMap(credentials), censor: REDACTED },
    hooks: { streamWrite: (line: string) => (MAYBE_TOKENS.test(line) ? withoutTokens(line) : line) },
  };
  return pino(options, destination);
}

const credentials = (headers: string) =>
  ['authorization', 'cookie', 'set-cookie', 'proxy-authorization'].map((name) => `${headers}["${name}"]`);

const withoutTokens = (line: string): string =>
  TOKENS.reduce((text, [token, instead]) => text.replace(token, instead), line);
