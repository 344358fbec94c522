import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import { openSqliteDatabase } from '../store/sqlite-database.ts';
import { fill } from '../support/fill.ts';
import { client, expectError } from '../support/http.ts';
import { type Service, startService } from '../support/service.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'plantstore-damaged-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

async function write(events: number): Promise<void> {
  const store = openSqlite(directory);
  await fill(store, events, 'alice');
  await store.close();
}

/** Expects that the service has logged why, at the level error. */
const expectLogged = async (service: Service, why: string): Promise<void> => {
  const fits = (line: object) => JSON.stringify(line).includes(why);
  expect(await service.logged(fits)).toMatchObject({ level: 'error' });
};

describe('a log that was damaged', () => {
  test('an event that is lost while the service runs is a broken log, not a store that is away', async () => {
    await write(1_059);
    await using service = await startService({ DATA_DIR: directory });
    const database = openSqliteDatabase(directory);
    await database.removeEvent(1_050);
    await database.close();
    const send = client(service.url);
    for (const path of ['checkpoint', 'proof/1050', 'tile/0/004.p/35', 'tile/entries/004.p/35'])
      expectError(await send('GET', `/log/${path}`), 500, 13);
    await expectLogged(service, 'the log is broken at position 1050: the next event has position 1051');
  });
});
