import type { PlantStoreError } from '../../domain/errors.ts';

/** Content type of every JSON response. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** The Error of the REST contract, as JSON. */
export const errorBody = (error: PlantStoreError): string =>
  JSON.stringify({ error: error.code, message: error.message });

/** Response header of every failure: the stable reason of gRPC's ErrorInfo. */
export const REASON_HEADER = 'plantstore-reason';
