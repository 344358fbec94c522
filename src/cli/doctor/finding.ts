/** The result of one examination. `ok`: all is well; `warn`: an operator should know; `fail`: something is wrong. */
export interface Finding {
  readonly level: 'ok' | 'warn' | 'fail';
  readonly subject: string;
  /** One line. Unless all is well, it says what to do. */
  readonly message: string;
}

/** A finding that all is well. */
export const ok = (subject: string, message: string): Finding => ({ level: 'ok', subject, message });

/** A finding that an operator should know of, with which the command still exits with 0. */
export const warn = (subject: string, message: string): Finding => ({ level: 'warn', subject, message });

/** A finding that something is wrong: the command then exits with 1. */
export const fail = (subject: string, message: string): Finding => ({ level: 'fail', subject, message });

/** The first line of an error's message. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message || error.name : String(error)).split('\n', 1)[0]!;
