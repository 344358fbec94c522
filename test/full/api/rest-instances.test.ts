import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dropDatabase, HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { client, type Send } from '../../support/http.ts';
import { isLinearizable } from '../../support/linearizability.ts';
import { type PlantInput, type PlantOperation, type PlantOutput, plantsModel } from '../../support/plants-model.ts';
import { startService } from '../../support/service.ts';
import { count } from '../../support/soak.ts';

/** Does one operation. Undefined: nobody knows whether it was done. */
async function perform(send: Send, input: PlantInput): Promise<boolean | undefined> {
  const { status } =
    input.do === 'add'
      ? await send('POST', '/plants', { body: JSON.stringify({ id: input.id, name: input.name }) })
      : await send('DELETE', `/plants/${(input as { id: number }).id}`);
  expect([200, 204, 400, 404, 503]).toContain(status);
  return status === 503 ? undefined : status < 300;
}

/** Lists as a client with a cache of its own does. */
function lister(send: Send): () => Promise<string[]> {
  let known: { tag: string; names: string[] } | undefined;
  return async () => {
    const headers = known && { 'If-None-Match': known.tag };
    const reply = await send('GET', '/plants', headers && { headers });
    if (reply.status === 304) return known!.names;
    expect(reply.status, reply.text).toBe(200);
    known = { tag: reply.headers.etag!, names: JSON.parse(reply.text).map(({ name }: { name: string }) => name) };
    return known.names;
  };
}

/** Random operations one after the other, most of them lists, and what it saw and when. */
async function run(send: Send, name: string, operations: number, history: PlantOperation[]): Promise<void> {
  const list = lister(send);
  for (let step = 0; step < operations; step++) {
    const id = Math.floor(Math.random() * 3);
    const [add, remove, look] = [
      { do: 'add', id, name: `${name}.${step}` },
      { do: 'delete', id },
      { do: 'list' },
    ] as const;
    const input = [add, remove, look, look, look][Math.floor(Math.random() * 5)]!;
    const called = performance.now();
    const output: PlantOutput | undefined = input.do === 'list' ? await list() : await perform(send, input);
    history.push({ input, output, called, returned: performance.now() });
  }
}

describe.runIf(HAS_MONGODB)('two instances on one MongoDB', () => {
  test('what clients of both see over REST is linearizable, lists that are remembered and 304 among it', async () => {
    const uri = newDatabase();
    const directory = mkdtempSync(join(tmpdir(), 'plantstore-'));
    const environment = { MONGODB_URI: uri, DATA_DIR: directory };
    const services = await Promise.all([startService(environment), startService(environment)]);
    try {
      for (let round = 0; round < count(2, 50); round++) {
        const token = await services[0]!.token(`owner ${round}`);
        const history: PlantOperation[] = [];
        await Promise.all(
          Array.from({ length: 6 }, (_, number) =>
            run(client(services[number % 2]!.url, token), `${number}`, 40, history),
          ),
        );
        expect(history.filter(({ output }) => output === true).length).toBeGreaterThan(10);
        expect(isLinearizable(plantsModel, history)).toBe(true);
      }
    } finally {
      for (const service of services) await service.stop();
      await dropDatabase(uri);
      rmSync(directory, { recursive: true });
    }
  });
});
