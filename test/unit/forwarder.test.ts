import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ForwardRequestSchema, ForwardResponseSchema } from '../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import type { Command } from '../../src/domain/decider.ts';
import { MAX_IDEMPOTENCY_KEY } from '../../src/domain/idempotency.ts';
import { MAX_TEXT_CODE_POINTS, PLANT_FIELDS, plantOfTexts, withId } from '../../src/domain/plant.ts';
import type { Cancellation } from '../../src/log/commit/committer.ts';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { Forwarder, type ForwardingParts } from '../../src/log/forward/forwarder.ts';
import type { Link, OpenLink } from '../../src/log/forward/link.ts';
import { messageOf } from '../../src/log/forward/messages.ts';
import { Receiver } from '../../src/log/forward/receiver.ts';
import type { ForwardObserver } from '../../src/log/observer.ts';
import { Follower } from '../../src/log/tail/follower.ts';
import { Tail } from '../../src/log/tail/tail.ts';
import { leafCertificate, selfSigned } from '../../src/transport/forward/contact.ts';
import { linksOf } from '../../src/transport/forward/link.ts';
import { addForwarding } from '../../src/transport/forward/service.ts';
import type { Registry } from '../../src/transport/grpc/definition.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { GrpcApp } from '../support/grpc.ts';

/** Of four bytes in UTF-8. */
const LONGEST = '\u{1F335}'.repeat(MAX_TEXT_CODE_POINTS);

const KEY = 'k'.repeat(MAX_IDEMPOTENCY_KEY);

/** Commands of one turn of the event loop, more of either kind than one message may have. */
const COMMANDS: readonly Command[] = [
  ...Array.from({ length: 64 }, (_, id): Command => {
    const plant = withId(BigInt(id), plantOfTexts(Array(PLANT_FIELDS.length).fill(LONGEST), 0));
    return { type: 'AddPlant', owner: LONGEST, actor: LONGEST, issuer: LONGEST, idempotencyKey: KEY, plant };
  }),
  ...Array.from(
    { length: 1_024 },
    (_, id): Command => ({ type: 'DeletePlant', owner: 'a', actor: 'a', id: BigInt(id) }),
  ),
];

/** Of commands that the link did not take. */
const committer = {
  submit: () => Promise.reject(new Error('taken back')),
} as unknown as ForwardingParts['committer'];

test('however long and many the commands of one turn are, no message is too long for the link', async () => {
  const identity = selfSigned();
  const { store } = await openMemoryStore();
  const follower = new Follower(store, new Tail(EMPTY_HEAD));
  let position = 0;
  const submit: ConstructorParameters<typeof Receiver>[0]['submit'] = async (_command, _cancellation, terms) => ({
    position: ++position,
    eventId: terms!.eventId!,
  });
  const receiver = new Receiver({ follower, submit, observer: undefined, onFault: () => {} });
  receiver.open('secret');
  const addInternal = (registry: Registry) => addForwarding(registry, () => receiver);
  await using app = await GrpcApp.start({}, { identity, addInternal, isInstance: () => true });

  const outcomes: string[] = [];
  const observer: ForwardObserver = { forwarded: (outcome) => outcomes.push(outcome), taken: () => {} };
  const contact = { address: app.address, secret: 'secret', certificate: leafCertificate(identity) };
  const parts = { follower, committer, commitLimit: 10_000, observer };
  const forwarder = new Forwarder(
    linksOf(() => identity),
    contact,
    parts,
  );
  await forwarder.opened;
  const committed = await Promise.all(COMMANDS.map((command) => forwarder.submit(command, undefined)));
  expect(committed).toHaveLength(COMMANDS.length);
  expect(new Set(outcomes)).toEqual(new Set(['applied']));
  forwarder.finish();
  await forwarder.closed;
});

/** A forwarder on an open link, whose messages go to `send` and are not answered. */
async function unanswered(send: Link['send']): Promise<Forwarder> {
  const { store } = await openMemoryStore();
  const follower = new Follower(store, new Tail(EMPTY_HEAD));
  const openLink: OpenLink = (_contact, listener) => {
    setImmediate(() => listener.answered(create(ForwardResponseSchema)));
    onTestFinished(() => listener.ended(undefined));
    return { send, finish: () => {}, close: () => {} };
  };
  const parts = { follower, committer, commitLimit: 10_000, observer: undefined };
  const forwarder = new Forwarder(openLink, { address: '', secret: '' }, parts);
  await forwarder.opened;
  return forwarder;
}

test('a command that alone is longer than a message should be is sent in one of its own', async () => {
  const sizes: number[] = [];
  const all = Promise.withResolvers<void>();
  const forwarder = await unanswered(({ commands }) => {
    if (sizes.length === 2) throw new Error('a message more than there are commands');
    sizes.push(commands.length);
    if (sizes.reduce((sum, size) => sum + size) === 2) all.resolve();
  });
  const command: Command = { type: 'DeletePlant', owner: 'a'.repeat(70_000), actor: 'a', id: 1n };
  for (let commands = 0; commands < 2; commands++) forwarder.submit(command, undefined).catch(() => {});
  await all.promise;
  expect(sizes).toEqual([1, 1]);
});

test('a command that its sender gives up before it is sent is left to the committer, which withdraws it', async () => {
  const sent = Promise.withResolvers<number>();
  const forwarder = await unanswered(({ commands }) => sent.resolve(commands.length));
  const command: Command = { type: 'DeletePlant', owner: 'a', actor: 'a', id: 1n };
  const leaving = new AbortController();
  const givenUp = forwarder.submit(command, leaving.signal);
  leaving.abort();
  forwarder.submit(command, undefined).catch(() => {});
  await expect(givenUp).rejects.toThrow('taken back');
  expect(await sent.promise).toBe(1);
});

test('a command is sent with the time that is left for it', async () => {
  const sent = Promise.withResolvers<number>();
  const forwarder = await unanswered(({ commands }) => sent.resolve(commands[0]!.timeLeft));
  forwarder.submit({ type: 'DeletePlant', owner: 'a', actor: 'a', id: 1n }, undefined).catch(() => {});
  const timeLeft = await sent.promise;
  expect(timeLeft).toBeGreaterThan(0);
  expect(timeLeft).toBeLessThanOrEqual(10_000);
});

test('a link stays open for as long as its writer answers, and is closed once that is silent', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { store } = await openMemoryStore();
  const follower = new Follower(store, new Tail(EMPTY_HEAD));
  let closed = 0;
  let answer = () => {};
  const openLink: OpenLink = (_contact, { answered }) => {
    answer = () => answered(create(ForwardResponseSchema));
    return { send: () => {}, finish: () => {}, close: () => void closed++ };
  };
  const parts = { follower, committer, commitLimit: 10_000, observer: undefined };
  const forwarder = new Forwarder(openLink, { address: '', secret: '' }, parts);
  for (let answers = 0; answers < 20; answers++) {
    answer();
    vi.advanceTimersByTime(1_000);
  }
  expect(closed).toBe(0);
  vi.advanceTimersByTime(5_000);
  expect(closed).toBe(1);
  await forwarder.closed;
});

test('what waits for the writer, sent or not, counts as pending: the bound on waiting commands is of both', async () => {
  const { store } = await openMemoryStore();
  const follower = new Follower(store, new Tail(EMPTY_HEAD));
  const sent = Promise.withResolvers<void>();
  const end = Promise.withResolvers<() => void>();
  const openLink: OpenLink = (_contact, listener) => {
    setImmediate(() => listener.answered(create(ForwardResponseSchema)));
    end.resolve(() => listener.ended(undefined));
    return { send: () => sent.resolve(), finish: () => {}, close: () => {} };
  };
  const parts = { follower, committer, commitLimit: 10_000, observer: undefined };
  const forwarder = new Forwarder(openLink, { address: '', secret: '' }, parts);
  await forwarder.opened;
  const submit = () => forwarder.submit({ type: 'DeletePlant', owner: 'a', actor: 'a', id: 1n }, undefined);
  const all = [submit(), submit()].map((command) => command.catch(() => {}));
  await sent.promise;
  all.push(submit().catch(() => {}));
  expect(forwarder.pending).toBe(3);
  (await end.promise)();
  await Promise.all(all);
  expect(forwarder.pending).toBe(0);
});

test('a command with a field that the writer does not know ends the link: nobody waits for its outcome', async () => {
  const identity = selfSigned();
  const { store } = await openMemoryStore();
  const follower = new Follower(store, new Tail(EMPTY_HEAD));
  const submit = () => expect.unreachable();
  const receiver = new Receiver({ follower, submit, observer: undefined, onFault: () => {} });
  receiver.open('secret');
  const addInternal = (registry: Registry) => addForwarding(registry, () => receiver);
  await using app = await GrpcApp.start({}, { identity, addInternal, isInstance: () => true });
  const contact = { address: app.address, secret: 'secret', certificate: leafCertificate(identity) };
  const [answered, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()];
  const link = linksOf(() => identity)(contact, { answered: () => answered.resolve(), ended: ended.resolve });
  await answered.promise;
  const command = messageOf(
    { type: 'DeletePlant', owner: 'alice', actor: 'alice', id: 7n },
    { number: 1, eventId: 'id', timeLeft: 1_000 },
  );
  command.$unknown = [{ no: 1_000, wireType: 0, data: Uint8Array.of(1) }];
  link.send(create(ForwardRequestSchema, { commands: [command] }));
  expect(String(await ended.promise)).toContain('UNIMPLEMENTED');
});

test('the commands of an instance whose link is cut are given up at the writer, unless they are decided', async () => {
  const identity = selfSigned();
  const { store } = await openMemoryStore();
  const follower = new Follower(store, new Tail(EMPTY_HEAD));
  const taken = Promise.withResolvers<Cancellation>();
  const submit: ConstructorParameters<typeof Receiver>[0]['submit'] = (_command, cancellation) => {
    taken.resolve(cancellation!);
    return new Promise(() => {});
  };
  const receiver = new Receiver({ follower, submit, observer: undefined, onFault: () => {} });
  receiver.open('secret');
  const addInternal = (registry: Registry) => addForwarding(registry, () => receiver);
  await using app = await GrpcApp.start({}, { identity, addInternal, isInstance: () => true });
  const contact = { address: app.address, secret: 'secret', certificate: leafCertificate(identity) };
  const answered = Promise.withResolvers<void>();
  const link = linksOf(() => identity)(contact, { answered: () => answered.resolve(), ended: () => {} });
  await answered.promise;
  const command = { type: 'DeletePlant', owner: 'alice', actor: 'alice', id: 7n } as const;
  const commands = [messageOf(command, { number: 1, eventId: randomUUID(), timeLeft: 10_000 })];
  link.send(create(ForwardRequestSchema, { commands }));
  const cancellation = await taken.promise;
  expect(cancellation.aborted).toBe(false);
  link.close();
  await expect.poll(() => cancellation.aborted).toBe(true);
});
