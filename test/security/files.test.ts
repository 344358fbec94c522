import { chmodSync, chownSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { keepOthersOut } from '../../src/start/store.ts';
import { command } from '../support/command.ts';
import { client } from '../support/http.ts';
import { startLocalService } from '../support/local-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test('whatever the umask, all that the service writes is for its user alone', async () => {
  const root = temporaryDirectory(onTestFinished);
  const umask = process.umask(0);
  try {
    const data = join(root, 'data');
    await using service = await startLocalService({ DATA_DIR: data });
    const alice = client(service.url, await service.token('alice'));
    expect((await alice('POST', '/plants', { body: '{"id":7,"name":"Fern"}' })).status).toBe(200);
    expect((await command(['audit', 'checkpoint'], { DATA_DIR: data })).code).toBe(0);
    const files = readdirSync(data).sort();
    expect(files).toEqual(
      expect.arrayContaining(['audit-key.pem', 'development-key.pem', 'plantstore.sqlite', 'plantstore.sqlite-wal']),
    );
    expect(modeOf(data)).toBe('700');
    for (const file of files) expect([file, modeOf(join(data, file))]).toEqual([file, '600']);
  } finally {
    process.umask(umask);
  }
});

describe('an existing DATA_DIR', () => {
  const isRoot = process.getuid?.() === 0;
  const STRANGER = 65_534;
  let folder: string;
  let warned: unknown[];
  const logger = { warn: (...line: unknown[]) => warned.push(line) };

  beforeEach(() => {
    folder = temporaryDirectory(onTestFinished);
    warned = [];
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test('that is open to others is closed to them, and a line says so', async () => {
    chmodSync(folder, 0o755);
    await using service = await startLocalService({ DATA_DIR: folder });
    expect(modeOf(folder)).toBe('700');
    const line = await service.logged(({ msg }) => /DATA_DIR was accessible/.test(String(msg)));
    expect(line).toMatchObject({ level: 'warn', folder, mode: '755' });
  });

  test('that has files of others stays open to them, and a line says so', () => {
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'plantstore.sqlite'), '');
    writeFileSync(join(folder, 'of-somebody-else'), '');
    keepOthersOut(folder, logger);
    expect(warned).toEqual([[{ folder, mode: '755' }, expect.stringContaining('set DATA_DIR to a folder in it')]]);
    expect(modeOf(folder)).toBe('755');
    rmSync(join(folder, 'of-somebody-else'));
    keepOthersOut(folder, logger);
    expect(modeOf(folder)).toBe('700');
  });

  test.runIf(isRoot)('of another user is refused, with one line', async () => {
    chownSync(folder, STRANGER, STRANGER);
    const { code, stderr } = await command(['serve'], { DATA_DIR: folder, PORT: '0', GRPC_PORT: '0' });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^plantstore: DATA_DIR \S+ belongs to user 65534, .*\n$/),
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.runIf(isRoot).each(['erase --owner alice', 'token --owner alice', 'audit key', 'audit checkpoint'])(
    'of another user gets no file of root, which that user’s service could not use: %s',
    async (line) => {
      const service = await startLocalService({ DATA_DIR: folder });
      await service.stop();
      const others = readdirSync(folder).filter((name) => !name.startsWith('plantstore.sqlite'));
      for (const name of others) rmSync(join(folder, name));
      for (const path of [folder, join(folder, 'plantstore.sqlite')]) chownSync(path, STRANGER, STRANGER);
      const { code, stderr } = await command(line.split(' '), { DATA_DIR: folder });
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${folder} belongs to user 65534`)]);
      const owners = readdirSync(folder).map((name) => statSync(join(folder, name)).uid);
      expect(new Set(owners)).toEqual(new Set([STRANGER]));
    },
  );

  test('of another user is refused even if it is closed to all others', () => {
    if (isRoot) chownSync(folder, STRANGER, STRANGER);
    vi.spyOn(process as Required<typeof process>, 'getuid').mockReturnValue(1_000_001);
    expect(() => keepOthersOut(folder, logger)).toThrow('belongs to user');
  });

  test('of root that is open, as a volume with fsGroup is, serves another user, and a line says what to do', () => {
    vi.spyOn(process as Required<typeof process>, 'getuid').mockReturnValue(1_000);
    const mode = modeOf('/usr');
    keepOthersOut('/usr', logger);
    expect(warned).toEqual([[{ folder: '/usr', mode }, expect.stringContaining('set DATA_DIR to a folder in it')]]);
    expect(modeOf('/usr')).toBe(mode);
  });
});
