/** A database on which the store cannot keep its promises, and will not be able to later: trying again is of no use. */
export class UnsuitableDatabaseError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnsuitableDatabaseError';
  }
}
