/** An erasure that is not done yet: what is left to do is in the store before any of it is done. */
export interface Erasure {
  /** Whose events lose their content. */
  readonly owner: string;
  /** Of the OwnerErased event, made in advance: it tells whether that event is in the log. */
  readonly eventId: string;
  /** Who asked for it. */
  readonly actor: string;
  /** Who issued the token of the actor; undefined: it was asked for without one. */
  readonly issuer?: string | undefined;
  /** When it was begun, in milliseconds since 1970. */
  readonly since: number;
  /** Where the log ended then: the OwnerErased event is after this position, if it is there. */
  readonly after: number;
  /** Position of the OwnerErased event, once every content is removed for good. */
  readonly erasedBy?: number | undefined;
  /** Whether the topic has the OwnerErased event, or is to have no events at all. */
  readonly isPublished: boolean;
}

/** Whoever uses the store may not change events, so nobody can be erased with it. Its message says what to do. */
export class MayNotEraseError extends Error {
  constructor(options?: ErrorOptions) {
    super(
      'the database user may not update `events`: run plantstore erase with a MONGODB_URI whose user may, or give its role `update` there',
      options,
    );
    this.name = 'MayNotEraseError';
  }
}
