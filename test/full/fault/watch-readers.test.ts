import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { PlantStore } from '../../../client/index.ts';
import { EventStreamReader } from '../../support/event-stream.ts';
import { client } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { SOAK } from '../../support/soak.ts';

test.runIf(SOAK)(
  'a stream that has nothing to tell says so every 15 s',
  async () => {
    await using service = await startService();
    const authorization = `Bearer ${await service.token('alice')}`;
    using stream = await EventStreamReader.open(service.url, { headers: { authorization } });
    void stream.take(2);
    while (stream.parser.comments < 2) await sleep(100);
  },
  60_000,
);

test.runIf(SOAK)(
  'a thousand readers that stop cost what one costs, and nobody else notices',
  async () => {
    await using service = await startService({ MAX_OWNER_WATCHES: '2000' });
    const token = await service.token('alice');
    const send = client(service.url, token);
    const name = '🌱'.repeat(1024);
    for (let id = 0; id < 50; id++)
      await send('POST', '/plants', { body: JSON.stringify({ id: -1 - id, name: 'Fern' }) });
    const stop = new AbortController();
    let told = 0;
    // The buffers of a thousand sockets strain the kernel, so that it may stall this reader until it is cut off, too. It
    // then goes on where it was.
    const reading = (async () => {
      for await (const change of new PlantStore({ url: service.url, token }).watch({ signal: stop.signal })) {
        if (change.type === 'reset') told = 0;
        if (change.type === 'added' && change.plant.name === name) told++;
      }
    })().catch(() => {});
    const { hostname, port } = new URL(service.url);
    const sockets = Array.from({ length: 1_000 }, () => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.pause();
      socket.write(
        `GET /plants HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      );
      return socket;
    });
    while ((await service.metric('plantstore_watches')) < 1_001) await sleep(50);
    const before = service.residentMemory;
    let most = before;
    let added = 0;
    while ((await service.metric('plantstore_watches')) > 1) {
      const add = () => send('POST', '/plants', { body: JSON.stringify({ id: added++, name, tag: name }) });
      const answers = await Promise.all(Array.from({ length: 50 }, add));
      expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
      most = Math.max(most, service.residentMemory);
    }
    while (told < added) await sleep(20);
    expect(told).toBe(added);
    expect(await service.metric('plantstore_watches')).toBe(1);
    expect(await service.metric('plantstore_watches_cut_off_total')).toBeGreaterThanOrEqual(1_000);
    // Each for itself would hold 1 MiB and more.
    expect(most - before).toBeLessThan(500);
    console.log(`${added} adds, ${Math.round(before)} MiB before, ${Math.round(most)} MiB at most`);
    for (const socket of sockets) socket.destroy();
    stop.abort();
    await reading;
  },
  240_000,
);
