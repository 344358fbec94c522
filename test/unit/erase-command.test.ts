import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { eraseCommand } from '../../src/cli/erase.ts';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import { openSqliteDatabase } from '../store/sqlite-database.ts';
import { added, append, project } from '../support/events.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

test('an erasure that waits in vain for the read model says what is wrong with that', async () => {
  const directory = temporaryDirectory(onTestFinished);
  const store = openSqlite(directory);
  await append(store, added('alice', 1n));
  await project(store);
  await store.close();
  const database = openSqliteDatabase(directory);
  await database.setCheckpoint(0);
  await database.close();
  vi.stubEnv('DATA_DIR', directory);
  const now = performance.now.bind(performance);
  let waited = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + waited);
  // Once the event is appended. The read model has another minute to move.
  vi.spyOn(console, 'error').mockImplementation(() => setTimeout(() => (waited = 61_000), 3_000));
  await expect(eraseCommand().parseAsync(['--owner', 'alice'], { from: 'user' })).rejects.toThrow(
    /^the erasure has begun at position 2, .*same subject key.*; the last fault: .*run plantstore audit rebuild$/,
  );
});
