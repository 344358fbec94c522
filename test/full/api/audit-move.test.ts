import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isName } from '../../../src/auth/principal.ts';
import { openLog } from '../../../src/log/log.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { openMongoDatabase } from '../../store/mongo-database.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';
import { commandArbitrary } from '../../support/arbitraries.ts';
import { command } from '../../support/command.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

describe.runIf(HAS_MONGODB)('a log moved from SQLite to MongoDB and back, by command line', () => {
  test('is exported the same to the byte from each, is whole in each, and is found out in each when it is changed', async () => {
    const root = temporaryDirectory(onTestFinished);
    const mongo = await openMongoStore();
    const environments = [
      { DATA_DIR: join(root, 'from') },
      { DATA_DIR: join(root, 'keys'), MONGODB_URI: mongo.uri },
      { DATA_DIR: join(root, 'back') },
    ];
    const [from, middle, back] = environments as [{ DATA_DIR: string }, (typeof environments)[1], { DATA_DIR: string }];
    const audit = async (environment: Record<string, string>, ...args: string[]) => {
      const { code, stdout, stderr } = await command(['audit', ...args], environment);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return stdout;
    };
    try {
      const log = await openLog(openSqlite(from.DATA_DIR), { onFault: () => {} });
      // An import takes no owner whom no token may name.
      const commands = fc.sample(commandArbitrary, 400).filter(({ owner }) => isName(owner));
      await Promise.allSettled(commands.map((command) => log.submit(command)));
      await log.close();
      const exported = await audit(from, 'export');
      const head = await audit(from, 'head');
      expect(exported.split('\n').length).toBeGreaterThan(50);
      let source = from as Record<string, string>;
      for (const target of [middle, back] as Record<string, string>[]) {
        const file = join(root, 'log.ndjson');
        writeFileSync(file, await audit(source, 'export'));
        expect(await audit(target, 'import', file)).toBe(head);
        expect(await audit(target, 'export')).toBe(exported);
        expect(JSON.parse(await audit(target, 'verify', '--json'))).toMatchObject({ ok: true });
        source = target;
      }
      const database = openMongoDatabase(mongo.uri);
      await database.removeEvent(7);
      await database.close();
      const { code, stdout } = await command(['audit', 'verify'], middle);
      expect(code).toBe(1);
      expect(stdout).toMatch(/^positions +NO +at position 7: missing/m);
    } finally {
      await mongo.cleanup();
    }
  });
});
