import { expect, test } from 'vitest';
import { openSqliteDatabase } from '../../store/sqlite-database.ts';
import { command } from '../../support/command.ts';
import { client, expectError } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';
import { storeState } from '../../support/store-state.ts';

const MESSAGE = 'the read model cannot be used';

/** What the service says of its store: to a load balancer, and in metrics. */
const state = (service: Service) => storeState(service, { broken: 'read_model_broken' });

// What each store says of other damage, test/store/broken-read-model.ts shows.
test('a checkpoint that is set back under a service is told of once, until it is rebuilt', async () => {
  await using service = await startService();
  const alice = client(service.url, await service.token('alice'));
  const add = (id: number) => alice('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` });
  for (const id of [1, 2, 3]) expect((await add(id)).status).toBe(200);
  const position = async () => service.metric('plantstore_read_model_position');
  await expect.poll(position).toBe(3);
  const well = { status: 200, store: { name: 'store', ready: true }, broken: '0' };
  expect(await state(service)).toEqual(well);
  const database = openSqliteDatabase(service.dataDirectory);
  await database.setCheckpoint(1);
  await database.close();
  const detail = 'the read model was set back from position 3 to 1: run plantstore audit rebuild';
  await expect
    .poll(() => state(service))
    .toEqual({ status: 200, store: { name: 'store', ready: true, degraded: true, detail }, broken: '1' });
  // A list that nobody has asked for yet, so that it needs rows.
  for (let asked = 0; asked < 2; asked++)
    expect(expectError(await alice('GET', '/plants?limit=2'), 503, 14)).toBe(
      'the plants cannot be read now; try again',
    );
  expect(service.logs.filter(({ msg }) => msg === MESSAGE)).toMatchObject([
    { level: 'error', err: { message: detail } },
  ]);
  expect(await command(['audit', 'rebuild'], { DATA_DIR: service.dataDirectory })).toMatchObject({ code: 0 });
  await expect.poll(() => state(service)).toEqual(well);
  expect(JSON.parse((await alice('GET', '/plants?limit=2')).text)).toHaveLength(2);
  expect((await add(4)).status).toBe(200);
});
