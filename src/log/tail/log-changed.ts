/**
 * The log is not the one that this instance has seen: it is shorter, its events differ, or its file was replaced. This
 * happens when an older backup is restored under a running instance. The instance's memory is then invalid, and an
 * append would leave a gap or a broken chain. Only a restart helps.
 */
export class LogChangedError extends Error {
  /** `why`: what is wrong and where, in words for an operator. */
  constructor(why: string, options?: ErrorOptions) {
    super(
      `${why}; this instance answers and appends nothing any more: stop every instance, see that the log is right, start again`,
      options,
    );
    this.name = 'LogChangedError';
  }
}
