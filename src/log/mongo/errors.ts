import { MongoError, MongoErrorLabel, MongoServerError } from 'mongodb';

/** Error codes of MongoDB that mean something here. */
export const CODE = { badValue: 2, unauthorized: 13, namespaceExists: 48, duplicateKey: 11000 } as const;

/** Whether a server answered with this code. */
export const hasCode = (error: unknown, code: number): boolean =>
  error instanceof MongoServerError && error.code === code;

/** Whether a transaction certainly did nothing, and may be tried again from its start. */
export const isTransient = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel(MongoErrorLabel.TransientTransactionError);
