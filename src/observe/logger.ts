import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';

const REDACTED = '[redacted]';

/** Patterns of tokens, and their replacements. Each must take linear time, because callers control parts of a line. */
const TOKENS: readonly (readonly [RegExp, string])[] = [
  // A JWT anywhere, with any prefix joined by a hyphen. The search runs once for each run of token characters, and only
  // if two dots follow. Otherwise it would scan a run without dots again from each "ey".
  [/(?<![\w-])(?=[\w-]+\.[\w-]+\.)(?:[\w-]*-)?ey[\w-]+\.[\w-]+\.[\w-]*/gi, REDACTED],
  // What names owners in MongoDB's messages, up to the end of the text: the key of a duplicate, and a command that its
  // user may not run, with its documents.
  [/(dup key: |execute command )(?:[^"\\]|\\.)*/g, `$1${REDACTED}`],
  // Any other bearer token in a query (RFC 6750, section 2.3) or in a header (section 2.1).
  [/(\baccess_token=)[^&\s"\\]+/gi, `$1${REDACTED}`],
  // A challenge stays readable, because only short parameter names follow its "Bearer".
  [/(\bBearer +)[\w.~+/-]{16,}=*/gi, `$1${REDACTED}`],
];

// Every line with a token matches one of these. Most lines match none and skip the search.
const MAYBE_TOKENS = /ey|bearer|access_token|dup key|execute command/i;

/** Members of MongoDB's errors that repeat documents: owners' names. */
const ROWS = ['keyValue', 'errorResponse', 'errInfo', 'writeErrors', 'result'];

/** A logger of the service. Passed to Fastify as `loggerInstance`, it logs requests without their headers. */
export type { Logger } from 'pino';

/**
 * Creates the service's logger: one JSON object per line, with `level` (a word), `time` (ISO 8601, UTC) and `msg`. No
 * line contains a token or a row of MongoDB, whether from an object, a message or an error.
 */
export function createLogger(level: string, destination: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: {
      err: (error: unknown) => {
        if (!(error instanceof Error)) return error;
        const serialized = stdSerializers.err(error);
        serialized.message = messageOf(error);
        for (const name of ROWS) delete serialized[name];
        return serialized;
      },
    },
    hooks: { streamWrite: withoutTokens },
  };
  return pino(options, destination);
}

/** The message with those of the causes, each told once: most errors of drivers repeat their cause. */
export function messageOf(error: Error): string {
  const seen = new Set<unknown>([error]);
  let message = error.message;
  for (let { cause } = error; cause instanceof Error && !seen.has(cause); { cause } = cause) {
    seen.add(cause);
    if (!message.includes(cause.message)) message += `: ${cause.message}`;
  }
  return message;
}

/** A line with a mark in place of each token. */
const withoutTokens = (line: string): string =>
  MAYBE_TOKENS.test(line) ? TOKENS.reduce((text, [token, instead]) => text.replace(token, instead), line) : line;
