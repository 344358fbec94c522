import { create } from '@bufbuild/protobuf';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ForwardedCommandSchema,
  ForwardingService,
} from '../../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import { NewPlantSchema } from '../../../gen/plantstore/v1/plant_pb.ts';
import { openMongo } from '../../../src/log/mongo/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { ofPlants } from '../../support/events.ts';
import { bearer, grpcClient } from '../../support/grpc.ts';
import { Instances } from '../../support/instances.ts';
import { reflectedServices } from '../../support/reflection.ts';
import { startService } from '../../support/service.ts';

const VICTIM = { number: 1, eventId: 'x', timeLeft: 10_000, owner: 'victim', actor: 'stranger' };
const ADDITION = create(NewPlantSchema, { id: 1n, name: 'Ivy' });
const COMMAND = create(ForwardedCommandSchema, { ...VICTIM, command: { case: 'addPlant', value: ADDITION } });
/** An int32 field that only a newer release knows. */
const $unknown = [{ no: 99, wireType: 0, data: Uint8Array.of(1) }];

/** How a call of the hop ends that a stranger makes at an address, having sent a command. */
function stranger(address: string, metadata: Metadata, command = COMMAND): Promise<number> {
  const client = grpcClient(address, { desc: ForwardingService });
  return new Promise<number>((resolve) => {
    const call = client.forward!(metadata);
    call.on('data', () => resolve(status.OK));
    call.on('error', ({ code }: ServiceError) => resolve(code));
    call.on('end', () => resolve(status.OK));
    call.write({ afterPosition: 2n ** 53n - 1n, commands: [command] });
  }).finally(() => client.close());
}

const showing = (secret: string): Metadata => {
  const metadata = new Metadata();
  metadata.set('plantstore-secret', secret);
  return metadata;
};

test('a service on SQLite, which is alone, has no such service', async () => {
  await using service = await startService();
  expect(await stranger(service.grpcUrl, new Metadata())).toBe(status.UNIMPLEMENTED);
});

describe.runIf(HAS_MONGODB)('the hop between instances', () => {
  const opened = new AsyncDisposableStack();
  let instances: Instances;
  let store: Store;

  beforeAll(async () => {
    const MONGODB_URI = newDatabase();
    instances = opened.use(await Instances.start(2, { MONGODB_URI }));
    store = opened.adopt(await openMongo(MONGODB_URI), (open) => open.close());
  });
  afterAll(() => opened.disposeAsync());

  const addresses = () => instances.services.map(({ grpcUrl }) => grpcUrl);

  test('takes nothing from anybody but who shows the secret of the writer’s lease, and that only at the writer', async () => {
    const writer = await instances.settled('alice');
    const { secret } = (await store.leaseholder('writer'))!;
    const wrong = [
      new Metadata(),
      bearer(await instances.token('alice')),
      bearer(await instances.services[0]!.token('alice', 'plants:write plants:audit')),
      bearer(secret),
      ...['', 'x', secret.slice(1), `${secret}x`, secret.toLowerCase(), `Bearer ${secret}`].map(showing),
    ];
    for (const address of addresses())
      for (const metadata of wrong) expect(await stranger(address, metadata)).toBe(status.PERMISSION_DENIED);
    expect(await stranger(addresses()[1 - writer]!, showing(secret))).toBe(status.PERMISSION_DENIED);
    // They take the way of every other call: its turn, and its place in metrics and log.
    const route = '/plantstore.internal.v1.ForwardingService/Forward';
    for (const service of instances.services) {
      const { samples } = (await service.metrics()).get('plantstore_request_duration_seconds')!;
      const counts = samples.filter(({ labels, name }) => labels.route === route && name.endsWith('_count'));
      expect(counts.map(({ labels }) => labels.status)).toEqual(['PERMISSION_DENIED']);
    }

    await instances.services[writer]!.stop();
    await instances.restart(writer);
    await instances.settled('alice');
    for (const address of addresses()) expect(await stranger(address, showing(secret))).toBe(status.PERMISSION_DENIED);
    for await (const events of store.read(0))
      for (const { event } of ofPlants(events)) expect(event.owner).toBe('alice');

    // And who does show it is let in: the refusals above are for what they lack.
    const next = (await store.leaseholder('writer'))!;
    expect(next.secret).not.toBe(secret);
    const answers = await Promise.all(addresses().map((address) => stranger(address, showing(next.secret))));
    expect(answers.toSorted()).toEqual([status.OK, status.PERMISSION_DENIED]);
  });

  test('applies no command of a newer release with a field that this one would lose', async () => {
    const writer = await instances.settled('alice');
    const { secret } = (await store.leaseholder('writer'))!;
    const { position } = await store.head();
    const newer = [
      { ...COMMAND, $unknown },
      { ...COMMAND, command: { case: 'addPlant', value: { ...ADDITION, $unknown } } as const },
    ];
    for (const command of newer)
      expect(await stranger(addresses()[writer]!, showing(secret), command)).toBe(status.UNIMPLEMENTED);
    for await (const events of store.read(position))
      expect(ofPlants(events).filter(({ event }) => event.owner === 'victim')).toEqual([]);
  });

  test('is not shown by reflection, not served on the other port, and its secret is in no line of the log', async () => {
    await instances.settled('alice');
    const { secret } = (await store.leaseholder('writer'))!;
    for (const { grpcUrl, url, logs, output } of instances.services) {
      const services = await reflectedServices(grpcUrl);
      expect(services).toContain('plantstore.v1.PlantStoreService');
      expect(services).not.toContain('internal');
      const reply = await fetch(`${url}/plantstore.internal.v1.ForwardingService/Forward`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'plantstore-secret': secret },
        body: '{}',
      });
      expect(reply.status).toBe(404);
      expect(JSON.stringify(logs) + output).not.toContain(secret);
    }
  });
});
