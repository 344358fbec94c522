import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { ForwardRequestSchema, type ForwardResponse } from '../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { messageOf } from '../../src/log/forward/messages.ts';
import { Receiver } from '../../src/log/forward/receiver.ts';
import { openLog } from '../../src/log/log.ts';
import { Follower } from '../../src/log/tail/follower.ts';
import { Tail } from '../../src/log/tail/tail.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { override } from '../support/faulty-store.ts';

const COMMAND = { type: 'DeletePlant', owner: 'alice', actor: 'alice', id: 1n } as const;
const forwarded = (number: number) =>
  create(ForwardRequestSchema, {
    commands: [messageOf(COMMAND, { number, eventId: `event ${number}`, timeLeft: 1_000 })],
  });

test('a writer that hands on says so at once, so that the others keep their commands, and gives back what still comes', async () => {
  const { store } = await openMemoryStore();
  const follower = new Follower(store, new Tail(EMPTY_HEAD));
  const answer = Promise.withResolvers<never>();
  const receiver = new Receiver({ follower, submit: () => answer.promise, observer: undefined, onFault: () => {} });
  receiver.open('secret');
  expect(receiver.admits('secret')).toBe(true);
  const said: ForwardResponse[] = [];
  const first = Promise.withResolvers<void>();
  const say = (answers: ForwardResponse) => {
    said.push(answers);
    first.resolve();
  };
  let ended = 0;
  const reception = receiver.begin(say, () => ended++);
  await first.promise;
  reception.receive(forwarded(1));
  expect(said).toMatchObject([{ position: 0n, outcomes: [], leaving: false }]);
  const closed = receiver.close();
  expect(receiver.admits('secret')).toBe(false);
  // Before any command is answered.
  expect(said.at(-1)).toMatchObject({ position: 0n, outcomes: [], leaving: true });
  reception.receive(forwarded(2));
  answer.reject(new Error('refused'));
  await closed;
  expect(ended).toBe(1);
  expect(said.flatMap(({ outcomes }) => outcomes)).toMatchObject([
    { outcome: { case: 'returned' }, number: 2 },
    { outcome: { case: 'refused' }, number: 1 },
  ]);
  expect(said.slice(1).every(({ leaving }) => leaving)).toBe(true);
});

test('who hands on being the writer has done so once the commands of the others are answered', async () => {
  const { store } = await openMemoryStore();
  const [appending, append] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = override(store, {
    append: async (events) => {
      appending.resolve();
      await append.promise;
      return store.append(events);
    },
  });
  const log = await openLog(held, { onFault: () => {} });
  const contact = () => ({ address: 'this' });
  const openLink = () => expect.unreachable();
  const receiver = log.join({ contact, openLink, onReachable: () => {}, onFault: () => {} });
  await expect.poll(() => log.status.role).toBe('writer');
  const said: ForwardResponse[] = [];
  const reception = receiver.begin(
    (response) => said.push(response),
    () => {},
  );
  const plant = { id: 1n, name: 'Fern', tag: undefined };
  const add = { type: 'AddPlant', owner: 'alice', actor: 'alice', plant } as const;
  await expect.poll(() => said.length).toBeGreaterThan(0);
  const commands = [messageOf(add, { number: 1, eventId: randomUUID(), timeLeft: 10_000 })];
  reception.receive(create(ForwardRequestSchema, { commands }));
  await appending.promise;
  const handedOn = log.handOn();
  append.resolve();
  await handedOn;
  expect(said.flatMap(({ outcomes }) => outcomes)).toMatchObject([{ number: 1, outcome: { case: 'applied' } }]);
  await log.close();
});

test('commands of other instances count among those that wait, and are refused beyond the bound', async () => {
  const { store } = await openMemoryStore();
  const append = Promise.withResolvers<void>();
  const held = override(store, { append: (events) => append.promise.then(() => store.append(events)) });
  const log = await openLog(held, { onFault: () => {}, limits: { queue: 2 } });
  const openLink = () => expect.unreachable();
  const receiver = log.join({
    contact: () => ({ address: 'this' }),
    openLink,
    onReachable: () => {},
    onFault: () => {},
  });
  await expect.poll(() => log.status.role).toBe('writer');
  const said: ForwardResponse[] = [];
  const reception = receiver.begin(
    (response) => said.push(response),
    () => {},
  );
  await expect.poll(() => said.length).toBeGreaterThan(0);
  const commands = [1, 2, 3].map((number) =>
    messageOf(
      { type: 'AddPlant', owner: 'alice', actor: 'alice', plant: { id: BigInt(number), name: 'Fern', tag: undefined } },
      { number, eventId: randomUUID(), timeLeft: 10_000 },
    ),
  );
  reception.receive(create(ForwardRequestSchema, { commands }));
  const outcomes = () => said.flatMap((response) => response.outcomes);
  await expect
    .poll(outcomes)
    .toMatchObject([{ number: 3, outcome: { case: 'refused', value: { reason: 'OVERLOADED' } } }]);
  append.resolve();
  await expect.poll(() => outcomes().length).toBe(3);
  await log.close();
});
