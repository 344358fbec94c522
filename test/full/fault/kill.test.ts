import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { fold, readLog, readModel, verifyLog } from '../../support/fold.ts';
import { startService } from '../../support/service.ts';
import { count } from '../../support/soak.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const CLIENTS = 16;
/** Most milliseconds of the test. */
const LIMIT = count(300_000, 1_800_000);

/** What one plant may be after what its only client was told: one state, or two while the last command's outcome is unknown. */
interface Known {
  readonly states: readonly (string | undefined)[];
}

/** Adds and deletes its own plants one after the other until the service is gone. Calls back at each reply. */
async function client(
  number: number,
  url: string,
  token: string,
  known: Map<number, Known>,
  onReply: () => void,
): Promise<void> {
  for (let step = 0; ; step++) {
    const id = number * 10 + (step % 7);
    const now = known.get(id)?.states ?? [undefined];
    const present = now[0] !== undefined;
    const name = present ? undefined : `client ${number} step ${step} ${Math.random()}`;
    known.set(id, { states: [...now, name] });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const reply = await fetch(`${url}/plants${present ? `/${id}` : ''}`, {
      method: present ? 'DELETE' : 'POST',
      headers,
      ...(present ? {} : { body: JSON.stringify({ id, name }) }),
    })
      .then(async (response) => ({ status: response.status, body: await response.text() }))
      .catch(() => undefined);
    if (reply === undefined) return;
    expect([200, 204], reply.body).toContain(reply.status);
    known.set(id, { states: [name] });
    onReply();
  }
}

test(
  'killed under load again and again, the embedded store loses nothing acknowledged and invents nothing',
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const known = new Map<number, Known>();
    let acknowledged = 0;
    for (let round = 0; round < count(5, 100); round++) {
      const service = await startService({ DATA_DIR: directory });
      const token = await service.token('alice');
      const headers = { authorization: `Bearer ${token}` };
      const listed = (await (await fetch(`${service.url}/plants`, { headers })).json()) as { name: string }[];

      const store = await openSqlite(directory, { readOnly: true });
      const events = await readLog(store);
      verifyLog(events);
      const plants = fold(events).get('alice') ?? [];
      expect(listed.map(({ name }) => name)).toEqual(plants.map(({ name }) => name));
      const { rows, position } = await readModel(store, 'alice');
      expect(rows).toEqual(fold(events.slice(0, position)).get('alice') ?? []);
      await store.close();

      const names = new Map(plants.map(({ id, name }) => [Number(id), name]));
      for (const [id, { states }] of known) {
        expect(states, `plant ${id} in round ${round}`).toContain(names.get(id));
        known.set(id, { states: [names.get(id)] });
      }
      for (const id of names.keys()) expect(known.has(id)).toBe(true);
      acknowledged = events.length;

      const { promise: underLoad, resolve } = Promise.withResolvers<void>();
      let replies = 0;
      const onReply = () => {
        if (++replies === CLIENTS) resolve();
      };
      const clients = Array.from({ length: CLIENTS }, (_, number) =>
        client(number, service.url, token, known, onReply),
      );
      // A kill on a slow machine would else come before the first reply.
      await Promise.race([underLoad, ...clients]);
      await sleep(Math.random() * 170);
      await service.kill();
      await Promise.all(clients);
    }
    expect(acknowledged).toBeGreaterThan(CLIENTS);
  },
  LIMIT,
);
