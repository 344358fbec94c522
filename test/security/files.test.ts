import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { client } from '../support/http.ts';
import { plantstore } from '../support/run.ts';
import { startService } from '../support/service.ts';

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test('whatever the umask, all that the service writes is for its user alone', async () => {
  const root = mkdtempSync(join(tmpdir(), 'plantstore-files-'));
  const umask = process.umask(0);
  try {
    const data = join(root, 'data');
    await using service = await startService({ DATA_DIR: data });
    const alice = client(service.url, await service.token('alice'));
    expect((await alice('POST', '/plants', { body: '{"id":7,"name":"Fern"}' })).status).toBe(200);
    expect((await plantstore(['audit', 'checkpoint'], { DATA_DIR: data })).code).toBe(0);
    const files = readdirSync(data).sort();
    expect(files).toEqual(
      expect.arrayContaining(['audit-key.pem', 'development-key.pem', 'plantstore.sqlite', 'plantstore.sqlite-wal']),
    );
    expect(modeOf(data)).toBe('700');
    for (const file of files) expect([file, modeOf(join(data, file))]).toEqual([file, '600']);
  } finally {
    process.umask(umask);
    rmSync(root, { recursive: true });
  }
});
