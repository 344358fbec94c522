import { expect, test } from 'vitest';
import { CLASSES, errorOf, PlantStoreError } from '../../client/errors.ts';
import { ERRORS } from '../../src/domain/errors.ts';

/** Reasons that no caller of REST meets. */
const ELSEWHERE = ['CANCELLED', 'COUNT_OUTDATED', 'EVENT_NOT_FOUND', 'MAY_NOT_ERASE', 'OWNER_BEING_ERASED'];

test('each reason that REST can give has a class, and no other has', () => {
  const reasons = Object.keys(ERRORS).filter((reason) => !ELSEWHERE.includes(reason));
  expect(new Set(Object.keys(CLASSES))).toEqual(new Set(reasons));
});

test('a reason that is not known yet is a PlantStoreError with its reason', () => {
  const failure = { reason: 'OF_TOMORROW', status: 418, message: 'no', requestId: undefined, retryAfter: undefined };
  const error = errorOf(failure);
  expect(error.constructor).toBe(PlantStoreError);
  expect(error).toMatchObject(failure);
});
