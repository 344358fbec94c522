import { setTimeout as sleep } from 'node:timers/promises';
import { type CallOptions, createClient } from '@connectrpc/connect';
import { describe, expect, test } from 'vitest';
import { EraseOwnerResponse_Result, ErasureService } from '../../../gen/plantstore/v1/erasure_service_pb.ts';
import { openMongo } from '../../../src/log/mongo/store.ts';
import { verdictOf } from '../../store/audit-tampering.ts';
import { dropDatabase, HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { client } from '../../support/http.ts';
import { Instances } from '../../support/instances.ts';
import { TRANSPORTS } from '../../support/protocols.ts';
import type { Service } from '../../support/service.ts';
import { count } from '../../support/soak.ts';

async function erase(service: Service, owner: string) {
  const token = await service.token('operator', 'plants:erase');
  const options: CallOptions = { headers: { authorization: `Bearer ${token}` } };
  for await (const { step } of createClient(ErasureService, TRANSPORTS[0]!.open(service)).eraseOwner(
    { owner },
    options,
  ))
    if (step.case === 'outcome') return step.value;
  throw new Error('no outcome');
}

describe.skipIf(!HAS_MONGODB)('erasure by one of several instances', () => {
  test('an instance that is frozen meanwhile decides and lists as if it had been there', {
    timeout: 240_000,
  }, async () => {
    const uri = newDatabase();
    await using instances = await Instances.start(2, { MONGODB_URI: uri });
    for (let round = 0; round < count(2, 20); round++) {
      const owner = `owner ${round}`;
      const token = await instances.token(owner);
      const victim = await instances.settled('settler');
      const [frozen, other] = [instances.services[victim]!, instances.services[1 - victim]!];
      const [atFrozen, atOther] = [client(frozen.url, token), client(other.url, token)];
      const add = (at: typeof atOther, id: number, name: string) =>
        at('POST', '/plants', { body: JSON.stringify({ id, name }) });
      for (let id = 1; id <= 5; id++) expect((await add(atFrozen, id, 'first life')).status).toBe(200);
      expect((await atFrozen('GET', '/plants')).text).toContain('first life');
      process.kill(frozen.pid, 'SIGSTOP');
      const outcome = await erase(other, owner);
      expect(outcome).toMatchObject({ events: 5n, result: EraseOwnerResponse_Result.ERASED });
      expect(outcome.subjectKey).toHaveLength(16);
      expect((await add(atOther, 3, 'second life')).status).toBe(200);
      await sleep(round % 2 === 0 ? 0 : 3_000);
      process.kill(frozen.pid, 'SIGCONT');
      expect((await atFrozen('DELETE', '/plants/1')).status).toBe(404);
      expect((await add(atFrozen, 2, 'second life')).status).toBe(200);
      expect((await add(atFrozen, 3, 'again')).status).toBe(400);
      for (const at of [atFrozen, atOther])
        expect((await at('GET', '/plants')).text).toBe('[{"name":"second life"},{"name":"second life"}]');
    }
    const store = await openMongo(uri);
    await expect.poll(() => store.unfinished()).toEqual([]);
    expect((await verdictOf(store)).places).toEqual({});
    await store.close();
    await dropDatabase(uri);
  });
});
