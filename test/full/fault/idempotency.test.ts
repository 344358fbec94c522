import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { client, type Send } from '../../support/http.ts';
import { plantstore } from '../../support/run.ts';
import { startService } from '../../support/service.ts';

test('a service killed under load answers those who ask again as it would have, and does nothing twice', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'plantstore-idempotency-'));
  const environment = { DATA_DIR: directory };
  try {
    const killed = await startService(environment);
    const answers = new Map<number, string | undefined>();
    const ask = async (send: Send, id: number) => {
      const body = JSON.stringify({ id, name: `${id}` });
      const key = { 'Idempotency-Key': `"${id}"` };
      const { status, headers } = await send('POST', '/plants', { body, headers: key });
      expect(status).toBe(200);
      return String(headers['plantstore-position']);
    };
    const load = async (send: Send, from: number) => {
      for (let id = from; ; id += 8) {
        answers.set(id, undefined);
        const position = await ask(send, id).catch(() => undefined);
        if (position === undefined) return;
        answers.set(id, position);
        if (id > 200) void killed.kill();
      }
    };
    const send = client(killed.url, await killed.token('alice'));
    await Promise.all(Array.from({ length: 8 }, (_, from) => load(send, from)));
    await killed.kill();
    await using service = await startService(environment);
    const again = client(service.url, await service.token('alice'));
    for (const [id, position] of answers) {
      const answer = await ask(again, id);
      expect(answer).toBe(position ?? answer);
      answers.set(id, answer);
    }
    const { stdout } = await plantstore(['audit', 'export'], environment);
    const events = stdout.split('\n').slice(0, -1);
    expect(events).toHaveLength(answers.size);
    for (const [id, position] of answers)
      expect(events[Number(position) - 1]).toContain(`"name":"${id}","idempotencyKey":"${id}","salt":`);
    expect((await plantstore(['audit', 'verify'], environment)).code).toBe(0);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
