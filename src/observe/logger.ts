import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';

const REDACTED = '[redacted]';

// A JWT wherever it stands, and any other bearer token in a header (RFC 6750, section 2.1) or a query (section 2.3).
// "Bearer" in a challenge is followed by short parameter names and stays readable.
const TOKENS = /\bey[\w-]+\.[\w-]+\.[\w-]*|(?<=\bBearer +)[\w.~+/-]{16,}=*|(?<=\baccess_token=)[^&\s"\\]+/gi;

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
    hooks: { streamWrite: (line: string) => (MAYBE_TOKENS.test(line) ? line.replace(TOKENS, REDACTED) : line) },
  };
  return pino(options, destination);
}

const credentials = (headers: string) =>
  ['authorization', 'cookie', 'set-cookie', 'proxy-authorization'].map((name) => `${headers}["${name}"]`);
