import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { createScopePolicy } from '../../src/auth/principal.ts';
import type { Call } from '../../src/call.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { rowBytes } from '../../src/log/row-size.ts';
import { implementPlantStore } from '../../src/plants/implementation.ts';
import type { Receipts } from '../../src/plants/receipts.ts';
import { PlantsService } from '../../src/plants/service.ts';
import type { WatchedLog } from '../../src/plants/watch/watch.ts';
import { Watches } from '../../src/plants/watch/watches.ts';
import { Admission } from '../../src/transport/admission/admission.ts';
import { GrpcApp } from '../support/grpc.ts';
import { HttpApp } from '../support/http-app.ts';
import { ALICE } from '../support/principal.ts';
import { frame, rawSession } from '../support/raw-grpc.ts';

/** A batch of a list without an end. */
const ROWS = Array.from({ length: 250 }, (_, id) => ({ id: BigInt(id), name: 'Fern'.repeat(256), tag: undefined }));
const PATH = '/plantstore.v1.PlantStoreService';
/** What of the answer is on its way to a client that reads nothing, at least. */
const UNREAD = 16 * 1024;

function endless() {
  const all = {
    next: async () => ({ done: false, value: ROWS }),
    return: async () => ({ done: true, value: undefined }),
    [Symbol.asyncIterator]: () => all,
  };
  return all;
}

let isErased = false;
const ERASED = new PlantStoreError('STORE_UNAVAILABLE', 'an owner was erased');
const log = {
  list: async () => ({
    plants: endless(),
    next: undefined,
    position: 1,
    confirm: async () => {
      if (isErased) throw ERASED;
    },
  }),
  status: { head: 1 },
  revalidateRows: () => undefined,
  onExtended: () => () => {},
  onRowsOutdated: () => {},
  replaced: new AbortController().signal,
} as unknown as ConstructorParameters<typeof PlantsService>[0] & WatchedLog;
const watches = new Watches(log, { maxWatches: 10, maxOwnerWatches: 10 });
const plants = new PlantsService(log, createScopePolicy([]), watches);
const service = implementPlantStore(plants, {} as Receipts);

const VIEWER = { unsent: 0, news: () => {}, quiet: () => {}, ended: () => {} };

/** What a client makes the admission count that has asked and reads nothing. */
interface Unread extends AsyncDisposable {
  readonly admission: Admission;
  leave(): void;
}

async function overHttp(starting: Promise<HttpApp>, head: string, body: Uint8Array | string = ''): Promise<Unread> {
  const app = await starting;
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  socket.write(`${head}\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`);
  socket.write(body);
  const { admission } = app;
  return { admission, leave: () => socket.destroy(), [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

const overRest = (header: string): Promise<Unread> => {
  const methods = { listPlants: plants.openList.bind(plants) };
  const app = HttpApp.rest(methods, { listPlants: plants.watchPlants.bind(plants) });
  return overHttp(app, `GET /plants HTTP/1.1\r\n${header}`);
};

const overConnect = (method: string): Promise<Unread> =>
  overHttp(
    HttpApp.connect(service),
    `POST ${PATH}/${method} HTTP/1.1\r\nContent-Type: application/connect+proto`,
    frame(Buffer.alloc(0)),
  );

async function overGrpc(method: string): Promise<Unread> {
  const admission = new Admission({ maxInFlight: 9, maxWait: 60_000, requestMemory: 2 ** 24 }, () => {});
  const app = await GrpcApp.start(service, { admission });
  const session = rawSession(app.address);
  session
    .request({
      ':method': 'POST',
      ':path': `${PATH}/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    .on('error', () => {})
    .end(frame(Buffer.alloc(0)));
  return { admission, leave: () => session.destroy(), [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

test.each<[string, number, () => Promise<Unread>]>([
  ['a list over REST', rowBytes(ROWS) + UNREAD, () => overRest('Accept: application/json')],
  ['a list over Connect', rowBytes(ROWS) + UNREAD, () => overConnect('StreamPlants')],
  ['a list over gRPC', rowBytes(ROWS) + UNREAD, () => overGrpc('StreamPlants')],
  ['a watch over REST', rowBytes(ROWS) + UNREAD, () => overRest('Accept: text/event-stream')],
  ['a watch over Connect', rowBytes(ROWS), () => overConnect('WatchPlants')],
  ['a watch over gRPC', rowBytes(ROWS), () => overGrpc('WatchPlants')],
])('what %s has in memory counts while its client reads nothing', async (_, bytes, ask) => {
  await using unread = await ask();
  const { admission } = unread;
  await expect.poll(() => admission.held, { timeout: 10_000 }).toBeGreaterThan(bytes);
  unread.leave();
  await expect.poll(() => admission.held, { timeout: 10_000 }).toBe(0);
});

test.each<[string, (call: Call) => Promise<AsyncIterable<readonly object[]>>]>([
  ['lists', async (call) => (await plants.openList({ cursor: '', view: 0, limit: undefined }, call)).plants as never],
  ['states', async (call) => plants.watchPlants(call, VIEWER).begin(undefined)],
])('of long %s that are read at once, a turn has few pieces, and owners take turns', async (_, open) => {
  let turn = 0;
  const next = () => {
    turn++;
    immediate = setImmediate(next);
  };
  let immediate = setImmediate(next);
  const perTurn = new Map<number, number>();
  const pieces: string[] = [];
  const isOver = () => pieces.filter((owner) => owner === 'bob').length === 50;
  const read = async (owner: string) => {
    const call = { principal: { ...ALICE, owner }, signal: { aborted: false } };
    for await (const piece of await open(call)) {
      expect(piece.length).toBeLessThan(ROWS.length / 3);
      perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
      if (isOver()) break;
      pieces.push(owner);
    }
  };
  await Promise.all([...Array.from({ length: 8 }, () => read('alice')), read('bob')]);
  clearImmediate(immediate);
  expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(2);
  expect(pieces.length).toBeLessThan(200);
});

test('of a batch of a long list, a reader who is slow gets no further piece once its owner is erased', async () => {
  const call = { principal: ALICE, signal: { aborted: false } };
  const list = await plants.openList({ cursor: '', view: 0, limit: undefined }, call);
  const pieces = list.plants as AsyncIterableIterator<readonly object[]>;
  expect((await pieces.next()).value.length).toBeLessThan(ROWS.length / 3);
  isErased = true;
  await expect(pieces.next()).rejects.toBe(ERASED);
});
