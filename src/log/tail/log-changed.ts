/**
 * The log is not the one that this instance has seen: it is shorter, its events are others, or its file was replaced, as when an
 * older backup is restored under it. What the instance holds in memory is then worth nothing, and to append would leave a hole or a
 * broken chain. Only a start ends that.
 */
export class LogChangedError extends Error {
  /** `why`: what is wrong where, in words for an operator. */
  constructor(why: string, options?: ErrorOptions) {
    super(
      `${why}; this instance answers and appends nothing any more: stop every instance, see that the log is right, start again`,
      options,
    );
    this.name = 'LogChangedError';
  }
}
