import { expect, test } from 'vitest';
import { counted } from '../../src/domain/counted.ts';

test('one thing is in the singular, and any other number of them in the plural', () => {
  expect([0, 1, 2].map((count) => counted(count, 'event'))).toEqual(['0 events', '1 event', '2 events']);
});
