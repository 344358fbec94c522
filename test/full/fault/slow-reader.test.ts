import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { fill } from '../../support/fill.ts';
import { startService } from '../../support/service.ts';
import { count } from '../../support/soak.ts';

const PLANTS = count(400_000, 1_000_000);
const MEGABYTE = 1024 * 1024;

/** Reads a list a piece at a time with a pause after each, and counts its plants. */
function readSlowly(url: string, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request(`${url}/plants`, { headers: { authorization: `Bearer ${token}` } }, async (response) => {
      try {
        let plants = 0;
        let unpaused = 0;
        for await (const chunk of response as AsyncIterable<Buffer>) {
          for (const byte of chunk) if (byte === 0x7b) plants++;
          unpaused += chunk.length;
          if (unpaused < MEGABYTE) continue;
          unpaused = 0;
          await sleep(300);
        }
        resolve(plants);
      } catch (error) {
        reject(error);
      }
    });
    call.on('error', reject).end();
  });
}

test('a list of very many plants streams to a slow reader in bounded memory while others are served', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'plantstore-slow-'));
  const store = await openSqlite(directory);
  await fill(store, PLANTS, 'alice');
  await store.close();
  const service = await startService({ DATA_DIR: directory });
  try {
    const [alice, bob] = [await service.token('alice'), await service.token('bob')];
    // To build the tree of a log that somebody else filled takes memory of its own.
    while ((await treeSize(service.url)) < PLANTS) await sleep(1_000);
    const before = service.residentMemory;
    const reading = readSlowly(service.url, alice);
    let done = false;
    void reading.finally(() => {
      done = true;
    });
    let peak = before;
    const times: number[] = [];
    for (let id = 0; !done; id++) {
      const start = performance.now();
      const reply = await fetch(`${service.url}/plants`, {
        method: 'POST',
        headers: { authorization: `Bearer ${bob}`, 'content-type': 'application/json' },
        body: JSON.stringify({ id, name: 'Fern' }),
      });
      times.push(performance.now() - start);
      expect(reply.status, await reply.text()).toBe(200);
      peak = Math.max(peak, service.residentMemory);
      await sleep(20);
    }
    expect(await reading).toBe(PLANTS);
    times.sort((a, b) => a - b);
    console.log(
      `${before.toFixed(0)} MB resident, at most ${(peak - before).toFixed(0)} more; ${times.length} adds beside it: p50 ${times[times.length >> 1]!.toFixed(1)} ms, slowest ${times.at(-1)!.toFixed(1)} ms`,
    );
    expect(peak - before).toBeLessThan(100);
  } finally {
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}, 120_000);

/** How many events the checkpoint of the public log covers. */
async function treeSize(url: string): Promise<number> {
  const [, size] = (await (await fetch(`${url}/log/checkpoint`)).text()).split('\n');
  return Number(size);
}
