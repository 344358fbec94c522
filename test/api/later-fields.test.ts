import { create, toBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuditService } from '../../gen/plantstore/v1/audit_service_pb.ts';
import { ContentSchema, EventSchema } from '../../gen/plantstore/v1/event_pb.ts';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { checkReceipt } from '../../src/audit/check-receipt.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import { decodeEntries } from '../../src/tlog/tile.ts';
import { parseLogKey } from '../../src/tlog/verifier-key.ts';
import { laterEvents } from '../store/later-fields.ts';
import { project } from '../support/events.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { TRANSPORTS } from '../support/protocols.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const directory = temporaryDirectory(afterAll);
const events: LoggedEvent[] = laterEvents();
let service: LocalService;

const as = async (who: string, scope: string) => ({
  headers: { authorization: `Bearer ${await service.token(who, scope)}` },
});

beforeAll(async () => {
  const store = openSqlite(directory);
  expect(await store.append(events)).toBe(events.length);
  // An erasure is complete once the read model has passed it.
  await project(store);
  await store.close();
  service = await startLocalService({ DATA_DIR: directory });
});

afterAll(() => service.stop());

/** The protobuf JSON format has no unknown fields. */
const JSON_FORMAT = 'Connect JSON';

describe.each(TRANSPORTS)('events of a later release over $name', ({ name, open }) => {
  test.skipIf(name === JSON_FORMAT)('are read with all their fields: a generated type writes their bytes', async () => {
    const read: { event: string; content: string; hash: string }[] = [];
    const audit = createClient(AuditService, open(service));
    for await (const { records } of audit.readEvents({}, await as('auditor', 'plants:audit')))
      for (const { event, content } of records)
        read.push({
          event: hex(toBinary(EventSchema, create(EventSchema, { ...event!, hash: new Uint8Array() }))),
          content: hex(toBinary(ContentSchema, content!)),
          hash: hex(event!.hash),
        });
    expect(read).toEqual(
      events.map(({ bytes, content, hash }) => ({ event: hex(bytes), content: hex(content!), hash: hex(hash) })),
    );
  });

  test('are read with what this release knows', async () => {
    const read: [number, string, string][] = [];
    const audit = createClient(AuditService, open(service));
    for await (const { records } of audit.readEvents({}, await as('auditor', 'plants:audit')))
      for (const { event, content } of records) read.push([Number(event!.position), content!.actor, hex(event!.hash)]);
    expect(read).toEqual(events.map(({ position, event, hash }) => [position, event!.actor, hex(hash)]));
  });

  test('are proved by receipts with all their fields', async () => {
    const vkey = (await (await fetch(`${service.url}/log/key`)).text()).trim();
    const plants = createClient(PlantStoreService, open(service));
    for (const { position, bytes, content, event, isExtended } of events) {
      if (event!.type === 'OwnerErased') continue;
      const options = await as(event!.owner, 'plants:read');
      const { receipt } = await plants.getReceipt({ position: BigInt(position) }, options);
      const proved = checkReceipt(receipt, parseLogKey(vkey));
      expect({ bytes: hex(proved.event.bytes), content: hex(proved.event.content!) }).toEqual({
        ...{ bytes: hex(bytes), content: hex(content!) },
      });
      expect(proved.event.isExtended).toBe(isExtended);
    }
  });
});

test('the tiles of the log have their bytes', async () => {
  const reply = await fetch(`${service.url}/log/tile/entries/000.p/${events.length}`);
  expect(reply.status).toBe(200);
  const entries = decodeEntries(await reply.bytes());
  expect(entries.map(hex)).toEqual(events.map(({ bytes }) => hex(bytes)));
});
