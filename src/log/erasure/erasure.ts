/** An unfinished erasure. It is stored before any of its work begins. */
export interface Erasure {
  /** The owner whose events lose their content. */
  readonly owner: string;
  /** Id of the OwnerErased event, made in advance. It shows whether that event is in the log. */
  readonly eventId: string;
  /** Who requested the erasure. */
  readonly actor: string;
  /** Issuer of the actor's token. Undefined: requested without a token. */
  readonly issuer?: string | undefined;
  /** When the erasure began, in milliseconds since 1970. */
  readonly since: number;
  /** The log's end at that time. The OwnerErased event, if any, is after this position. */
  readonly after: number;
  /** Position of the OwnerErased event, once every content is removed for good. */
  readonly erasedBy?: number | undefined;
  /** Whether the topic has the OwnerErased event or never gets events. */
  readonly isPublished: boolean;
}

/** The store's user may not change events, so no owner can be erased. The message says what to do. */
export class MayNotEraseError extends Error {
  constructor(options?: ErrorOptions) {
    super(
      'the database user may not update `events`: run plantstore erase with a MONGODB_URI whose user may, or give its role `update` there',
      options,
    );
    this.name = 'MayNotEraseError';
  }
}
