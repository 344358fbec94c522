import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { TimestampSchema, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { type CallOptions, createClient } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { AuditService, type ListPlantsAsOfResponse } from '../../gen/plantstore/v1/audit_service_pb.ts';
import { type Record as EventRecord, RecordSchema } from '../../gen/plantstore/v1/event_pb.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { eventOfRecord } from '../../src/log/event/record.ts';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import { openCheckpoint } from '../../src/tlog/checkpoint.ts';
import { parseVerifierKey } from '../../src/tlog/verifier-key.ts';
import { added, append, deleted, type LoggedPlantEvent, project } from '../support/events.ts';
import { verifyLog } from '../support/fold.ts';
import { client } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { callErrorOf, TRANSPORTS } from '../support/protocols.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { rootOf } from '../support/tree.ts';

/** More than the service sends in one message, or reads at once. */
const PLANTS = 1_200;

const directory = temporaryDirectory(afterAll);
let events: LoggedPlantEvent[];
let service: LocalService;
let auditor: CallOptions;

const as = async (scope: string, who = 'auditor'): Promise<CallOptions> => ({
  headers: { authorization: `Bearer ${await service.token(who, scope)}` },
});

beforeAll(async () => {
  const store = openSqlite(directory);
  const plants = Array.from({ length: PLANTS }, (_, id) => added(id % 2 ? 'alice' : 'bob', BigInt(id), `Plant ${id}`));
  events = await append(store, added('alice', 7n), deleted('alice', 7n), ...plants);
  await project(store);
  await store.close();
  service = await startLocalService({ DATA_DIR: directory, MAX_WAIT: '60000' });
  auditor = await as('plants:audit');
});

afterAll(() => service.stop());

/** So many nanoseconds after a time in milliseconds. */
const beside = (time: number, nanoseconds: number) => {
  const whole = timestampFromMs(time);
  return { ...whole, nanos: whole.nanos + nanoseconds };
};

const plain = (event: LoggedEvent): LoggedEvent => ({
  ...event,
  commitment: new Uint8Array(event.commitment),
  hash: new Uint8Array(event.hash),
  salt: event.salt && new Uint8Array(event.salt),
});

async function readAll(messages: AsyncIterable<{ readonly records: readonly EventRecord[] }>): Promise<LoggedEvent[]> {
  const read: LoggedEvent[] = [];
  for await (const { records: part } of messages) {
    expect(part.length).toBeLessThanOrEqual(200);
    read.push(...part.map((event) => plain(eventOfRecord(toBinary(RecordSchema, event)))));
  }
  return read;
}

const failureOf = async (stream: AsyncIterable<unknown>) => {
  try {
    for await (const _ of stream);
  } catch (thrown) {
    const { code, reason, field } = callErrorOf(thrown);
    return { code, reason, field };
  }
  return undefined;
};

describe.each(TRANSPORTS)('$name', ({ open }) => {
  const connect = () => createClient(AuditService, open(service));

  test('nobody gets in without plants:audit, whatever else the token is good for', async () => {
    const audit = connect();
    const options = await as('plants:read plants:write');
    const refused = { code: 7, reason: 'INSUFFICIENT_SCOPE', field: undefined };
    // One after the other: a call begins as it is made, and its failure wants to be waited for.
    for (const stream of [
      () => audit.readEvents({}, options),
      () => audit.listPlantsAsOf({}, options),
      () => audit.getHistory({}, options),
      () => audit.verifyLog({}, options),
    ])
      expect(await failureOf(stream())).toEqual(refused);
    await expect(
      audit.getHead({}, options).catch((thrown) => Promise.reject(callErrorOf(thrown))),
    ).rejects.toMatchObject({ code: 7, reason: 'INSUFFICIENT_SCOPE' });
    expect(await failureOf(audit.readEvents({}))).toMatchObject({ code: 16, reason: 'TOKEN_MISSING' });
  });

  test('the whole log comes with its hashes, and verifies', async () => {
    const read = await readAll(connect().readEvents({}, auditor));
    expect(read).toEqual(events.map(plain));
    verifyLog(read);
  });

  test('a read starts after any position or at any time, and filters', async () => {
    const audit = connect();
    const read = (request: Parameters<typeof audit.readEvents>[0]) => readAll(audit.readEvents(request, auditor));
    const start = (after: number) => ({ case: 'afterPosition' as const, value: BigInt(after) });
    for (const after of [0, 1, 1_000, events.length])
      expect(await read({ start: start(after) })).toEqual(events.slice(after).map(plain));
    const time = events[900]!.time;
    const fromTime = { case: 'fromTime' as const, value: timestampFromMs(time) };
    expect(await read({ start: fromTime })).toEqual(events.filter((event) => event.time >= time).map(plain));
    // A nanosecond later, and not a whole millisecond.
    const later = { case: 'fromTime' as const, value: beside(time, 1) };
    expect((await read({ start: later })).map(({ position }) => position)).toEqual(
      events.filter((event) => event.time > time).map(({ position }) => position),
    );
    expect(await read({ owner: 'bob' })).toEqual(events.filter(({ event }) => event.owner === 'bob').map(plain));
    expect(await read({ owner: 'alice', plantId: 7n })).toEqual([0, 1, 9].map((index) => plain(events[index]!)));
    expect(await read({ owner: 'nobody' })).toEqual([]);
  });

  test('no owner has an empty name, and no timestamp is outside of its years and nanoseconds', async () => {
    const audit = connect();
    const drained = async (stream: AsyncIterable<unknown>) => {
      for await (const _ of stream);
    };
    for (const [seconds, nanos] of [
      [0n, -1],
      [0n, 1_000_000_000],
      [253_402_300_800n, 0],
      [-62_135_596_801n, 0],
    ] as const) {
      const value = create(TimestampSchema, { seconds, nanos });
      await expect(drained(audit.readEvents({ start: { case: 'fromTime', value } }, auditor))).rejects.toThrow(
        /^\[invalid_argument\] from_time must be from the year 1|cannot encode message/,
      );
      await expect(drained(audit.listPlantsAsOf({ asOf: { case: 'time', value } }, auditor))).rejects.toThrow(
        /^\[invalid_argument\] time must be from the year 1|cannot encode message/,
      );
    }
    for (const stream of [audit.readEvents({ owner: '' }, auditor), audit.listPlantsAsOf({ owner: '' }, auditor)])
      await expect(drained(stream)).rejects.toThrow('[invalid_argument] owner is missing');
  });

  test('every position that a message names goes on exactly there', async () => {
    const audit = connect();
    for await (const { position } of audit.readEvents({ owner: 'alice' }, auditor)) {
      const start = { case: 'afterPosition' as const, value: position };
      const rest = await readAll(audit.readEvents({ owner: 'alice', start }, auditor));
      const wanted = events.filter(({ event, position: at }) => event.owner === 'alice' && at > Number(position));
      expect(rest).toEqual(wanted.map(plain));
    }
  });

  test.each([-1n, 1_203n, 2n ** 63n - 1n])('a start that is no position of the log is refused: %s', async (value) => {
    const start = { case: 'afterPosition' as const, value };
    expect(await failureOf(connect().readEvents({ start, follow: true }, auditor))).toEqual({
      code: 3,
      reason: 'INVALID_FIELD',
      field: 'after_position',
    });
  });

  test('the head is that of the log, and its checkpoint is signed with the published key', async () => {
    const { head, checkpoint } = await connect().getHead({}, auditor);
    expect(head).toMatchObject({ position: BigInt(events.length), hash: plain(events.at(-1)!).hash });
    expect(timestampMs(head!.time!)).toBe(events.at(-1)!.time);
    const vkey = (await (await fetch(`${service.url}/log/key`)).text()).trim();
    expect(openCheckpoint(checkpoint, parseVerifierKey(vkey))).toMatchObject({
      size: events.length,
      root: rootOf(events),
    });
  });

  test('plants are listed as they were, of one owner and of all, with the position that they stand at', async () => {
    const audit = connect();
    const list = async (request: Parameters<typeof audit.listPlantsAsOf>[0]) => {
      const messages: ListPlantsAsOfResponse[] = [];
      for await (const message of audit.listPlantsAsOf(request, auditor)) messages.push(message);
      const plants = messages.flatMap((message) => message.plants.map(({ owner, id }) => `${owner}/${id}`));
      return { plants, positions: [...new Set(messages.map(({ position }) => position))] };
    };
    const at = (value: bigint) => ({ case: 'position' as const, value });
    expect(await list({ asOf: at(1n) })).toEqual({ plants: ['alice/7'], positions: [1n] });
    expect(await list({ asOf: at(2n) })).toEqual({ plants: [], positions: [2n] });
    expect(await list({ asOf: at(6n), owner: 'bob' })).toEqual({ plants: ['bob/0', 'bob/2'], positions: [6n] });
    const now = await list({});
    expect(now.plants).toHaveLength(PLANTS);
    expect(now.positions).toEqual([BigInt(events.length)]);
    const first = { case: 'time' as const, value: timestampFromMs(events[0]!.time - 1) };
    expect(await list({ asOf: first })).toEqual({ plants: [], positions: [0n] });
    const justBefore = { case: 'time' as const, value: beside(events[0]!.time - 1, 999_999) };
    expect(await list({ asOf: justBefore })).toEqual({ plants: [], positions: [0n] });
    expect(await failureOf(audit.listPlantsAsOf({ asOf: at(9_999n) }, auditor))).toMatchObject({ field: 'position' });
  });

  test('the history of a plant is all that happened to it', async () => {
    const audit = connect();
    const history = await readAll(audit.getHistory({ owner: 'alice', plantId: 7n }, auditor));
    expect(history).toEqual([0, 1, 9].map((index) => plain(events[index]!)));
    expect(await readAll(audit.getHistory({ owner: 'bob', plantId: 7n }, auditor))).toEqual([]);
    expect(await failureOf(audit.getHistory({ plantId: 7n }, auditor))).toMatchObject({ field: 'owner' });
    expect(await failureOf(audit.getHistory({ owner: 'alice' }, auditor))).toMatchObject({ field: 'plant_id' });
  });

  test('a verification tells how far it is, and last the verdict, with a checkpoint that was signed earlier', async () => {
    const audit = connect();
    const { checkpoint } = await audit.getHead({}, auditor);
    const steps: string[] = [];
    for await (const { step } of audit.verifyLog({ checkpoint }, auditor)) {
      steps.push(step.case!);
      if (step.case === 'progress') expect(step.value.end).toBe(BigInt(events.length));
      if (step.case === 'verdict') {
        expect(step.value).toMatchObject({ ok: true, checkpoint: BigInt(events.length) });
        const answers = step.value.answers.map(({ question, failure }) => [question, failure]);
        const questions = [
          'positions',
          'chain',
          'contents',
          'read_model',
          'decisions',
          'storage',
          'tree',
          'checkpoint',
        ];
        expect(answers).toEqual(questions.map((name) => [name, undefined]));
      }
    }
    expect(steps[0]).toBe('progress');
    expect(steps.filter((step) => step === 'verdict')).toHaveLength(1);
    expect(steps.at(-1)).toBe('verdict');
    expect(await failureOf(audit.verifyLog({ checkpoint: 'forged' }, auditor))).toEqual({
      code: 3,
      reason: 'INVALID_FIELD',
      field: 'checkpoint',
    });
  });
});

test("an auditor's calls that go through the whole log are bounded, another auditor's are served, and room is made again", async () => {
  const audit = createClient(AuditService, TRANSPORTS.at(-1)!.open(service));
  const other = createClient(AuditService, TRANSPORTS.at(-1)!.open(service));
  const otherAuditor = await as('plants:audit', 'other');
  // Two of them at once; sixteen wait.
  const calls = Array.from({ length: 60 }, () => failureOf(audit.listPlantsAsOf({}, auditor)));
  expect(await failureOf(other.listPlantsAsOf({}, otherAuditor))).toBeUndefined();
  const outcomes = await Promise.all(calls);
  const refused = outcomes.filter((failure) => failure !== undefined);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThanOrEqual(58);
  for (const failure of refused) expect(['TOO_MANY_REQUESTS', 'OVERLOADED']).toContain(failure.reason);
  expect(refused).toContainEqual(expect.objectContaining({ code: 8, reason: 'TOO_MANY_REQUESTS' }));
  expect(await failureOf(audit.listPlantsAsOf({}, auditor))).toBeUndefined();
});

test('auditors who follow the log hold no permits, and each may have 16 such calls', async () => {
  await using own = await startLocalService({ DATA_DIR: temporaryDirectory(onTestFinished), MAX_IN_FLIGHT: '2' });
  const audit = createClient(AuditService, TRANSPORTS[0]!.open(own));
  const abort = new AbortController();
  const follow = async (who: string) => {
    const headers = { authorization: `Bearer ${await own.token(who, 'plants:audit')}` };
    return audit.readEvents({ follow: true }, { headers, signal: abort.signal });
  };
  const open: Promise<unknown>[] = [];
  for (let number = 0; number < 16; number++) {
    open.push(failureOf(await follow('auditor')));
    await expect.poll(() => own.metric('plantstore_requests_in_flight')).toBe(0);
  }
  expect(await failureOf(await follow('auditor'))).toMatchObject({ code: 8, reason: 'TOO_MANY_REQUESTS' });
  open.push(failureOf(await follow('another')));
  const send = client(own.url, await own.token('alice'));
  expect((await send('POST', '/plants', { body: '{"id":7,"name":"Fern"}' })).status).toBe(200);
  abort.abort();
  for (const failure of await Promise.all(open)) expect(failure).toMatchObject({ code: 1 });
});

test('whoever follows the log from a time to come gets nothing from before it', async () => {
  await using own = await startLocalService({ DATA_DIR: temporaryDirectory(onTestFinished) });
  const send = client(own.url, await own.token('alice'));
  const add = async (id: number) =>
    expect((await send('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` })).status).toBe(200);
  const headers = { authorization: `Bearer ${await own.token('auditor', 'plants:audit')}` };
  const from = Date.now() + 2_000;
  const start = { case: 'fromTime' as const, value: timestampFromMs(from) };
  const abort = new AbortController();
  const audit = createClient(AuditService, TRANSPORTS[0]!.open(own));
  const messages = audit.readEvents({ start, follow: true }, { headers, signal: abort.signal });
  const first = messages[Symbol.asyncIterator]().next();
  await sleep(500);
  await add(1);
  await sleep(from - Date.now() + 10);
  await add(2);
  expect((await first).value).toMatchObject({ records: [{}], position: 2n });
  abort.abort();
});
