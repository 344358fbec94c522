// A typed client of the plant store for browsers and Node.js, without dependencies.
export type { TokenSource } from './connection.ts';
export {
  ConnectionError,
  type Failure,
  IdempotencyKeyReusedError,
  InternalError,
  InvalidRequestError,
  OutcomeUnknownError,
  PermissionDeniedError,
  PlantAlreadyExistsError,
  PlantNotFoundError,
  PlantStoreError,
  TooManyRequestsError,
  UnauthenticatedError,
  UnavailableError,
} from './errors.ts';
export { type Json, parseJson } from './json.ts';
export type { NewPlant, Plant } from './plant.ts';
export {
  type CallOptions,
  type ListOptions,
  PlantStore,
  type PlantStoreOptions,
  type WatchOptions,
  type WriteOptions,
  type Written,
} from './plant-store.ts';
export type { Change } from './watch.ts';
