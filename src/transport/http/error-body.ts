import type { PlantStoreError } from '../../domain/errors.ts';

/** Content type of every JSON answer. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** The Error of the REST contract. */
export const errorBody = (error: PlantStoreError): string =>
  JSON.stringify({ error: error.code, message: error.message });

/** The header of every failure that has the reason of gRPC's ErrorInfo, which is stable. */
export const REASON_HEADER = 'plantstore-reason';
