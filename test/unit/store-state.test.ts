import { expect, test } from 'vitest';
import { DamagedStoreError } from '../../src/log/store.ts';
import { Metrics } from '../../src/observe/metrics/metrics.ts';
import { StoreState } from '../../src/observe/store-state.ts';

test('a database that was found damaged makes an instance degraded, and stays so', () => {
  const state = new StoreState(new Metrics());
  state.isOpen = true;
  expect(state.readiness).toEqual({ ready: true, log: undefined });
  state.damage = new DamagedStoreError('/data/plantstore.sqlite', new Error('database disk image is malformed'));
  const detail =
    '/data/plantstore.sqlite is damaged (database disk image is malformed): run plantstore audit verify, and restore a backup if it says NO';
  expect(state.readiness).toEqual({ ready: true, degraded: true, detail, log: undefined });
});
