/** What may be wrong. */
export const KINDS = [
  'decision',
  'order',
  'content',
  'read model',
  'outcome',
  'list',
  'get',
  'watch',
  'second life',
  'remains',
  'proof',
  'topic',
  'move',
  'as of',
  'follow',
  'verify',
  'progress',
  'unhandled',
] as const;

/** What is wrong. */
export type Kind = (typeof KINDS)[number];

/** A promise that was broken. A history ends with the first. */
export class Violation extends Error {
  readonly kind: Kind;
  /** The owner whom it is about, if it is about one. */
  readonly owner: string | undefined;

  constructor(kind: Kind, message: string, owner?: string) {
    super(message);
    this.name = 'Violation';
    this.kind = kind;
    this.owner = owner;
  }
}
