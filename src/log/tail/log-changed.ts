/**
 * The log is not the one that this instance has seen: it is shorter, its events differ, or its file was replaced. This
 * happens when an older backup is restored under a running instance. The instance's memory is then invalid, and an
 * append would leave a gap or a broken chain. Only a restart helps.
 */
export class LogChangedError extends Error {
  /** `why`: what is wrong and where, in words for an operator. */
  constructor(why: string, options?: ErrorOptions) {
    super(
      `${why}; this instance no longer answers or appends: stop all instances, make sure that the log is the right one, and start them again`,
      options,
    );
    this.name = 'LogChangedError';
  }
}
