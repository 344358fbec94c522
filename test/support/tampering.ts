import type { PlantEvent } from '../../src/domain/events.ts';
import type { Plant } from '../../src/domain/plant.ts';
import { headAt, seal } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import type { OwnedRow } from '../../src/log/store.ts';
import type { LoggedPlantEvent } from './events.ts';
import { fold } from './fold.ts';
import type { Kept } from './malformed.ts';

/** Direct write access to a store's database. */
export interface Database {
  /** Replaces the event at its position. Its bytes are made from its members. */
  putEvent(event: LoggedEvent): Promise<void>;
  /** Changes what is kept at a position. A member that is there and undefined is taken away. */
  keep(position: number, kept: Kept): Promise<void>;
  removeEvent(position: number): Promise<void>;
  /** Replaces a row of the read model. */
  putPlant(row: OwnedRow): Promise<void>;
  removePlant(owner: string, id: bigint): Promise<void>;
  setCheckpoint(position: number): Promise<void>;
  /** Says that rows of an owner who is erased at a position may be gone. */
  setUpTo(position: number): Promise<void>;
  /** Replaces a node of the log's tree. */
  putNode(index: number, hash: Uint8Array): Promise<void>;
  removeNode(index: number): Promise<void>;
  removeCheckpoint(): Promise<void>;
  close(): Promise<void>;
}

/** A new event id. */
const ANOTHER = '00000000-0000-4000-8000-00000000000a';

/** The places where the answers to questions are no: positions or plants, or messages where there is neither. */
export type Places = Readonly<Record<string, number | string>>;

/** One way to tamper with a log, and where verification must find it. */
export interface Tampering {
  readonly name: string;
  readonly tamper: (database: Database, events: readonly LoggedPlantEvent[]) => Promise<void>;
  /** A position with an unreadable event: see `unreadableAt`. */
  readonly found: Places | number;
}

/** Where the questions of a verification fail if the event at a position is unreadable. */
export const unreadableAt = (position: number, questions: readonly string[]): Places =>
  Object.fromEntries(
    questions
      .filter((question) => question !== 'storage')
      .map((question) => [
        question,
        ['positions', 'chain', 'contents'].includes(question)
          ? position
          : `not asked: the event at position ${position} cannot be read`,
      ]),
  );

type Change = (event: PlantEvent & { name?: string; tag?: string | undefined }) => Partial<PlantEvent & Plant>;

/** Size of the signed checkpoint in the tests. */
export const SIGNED = 9;

/** Changes one event or its content, but not its commitment and hash. */
const changed = (
  name: string,
  position: number,
  change: Partial<LoggedEvent> | Change,
  also: Places = {},
): Tampering => ({
  name,
  tamper: (database, events) => {
    const logged = events[position - 1]!;
    const event = typeof change === 'function' ? { ...logged.event, ...change(logged.event) } : logged.event;
    return database.putEvent({ ...logged, event: event as PlantEvent, ...(typeof change === 'object' ? change : {}) });
  },
  found: {
    [typeof change === 'function' ? 'contents' : 'chain']: position,
    ...also,
    // A record of the tree is an event without its hash and content.
    ...(position <= SIGNED && typeof change === 'object' && !('hash' in change) && { checkpoint: SIGNED }),
  },
});

/** An event after its erasure. */
export const withoutContent = (event: LoggedEvent, erasedBy: number): LoggedEvent => ({
  ...event,
  event: undefined,
  content: undefined,
  salt: undefined,
  erasedBy,
});

/** The events from a position on with other contents, positions and hashes, rewritten consistently. */
function rewritten(events: readonly LoggedEvent[], from: number, rest: readonly PlantEvent[]): LoggedEvent[] {
  let head = from === 1 ? EMPTY_HEAD : headAt(events[from - 2]!);
  return rest.map((event, index) => {
    const sealed = seal(head, event, events[from - 1 + index]?.eventId ?? ANOTHER, head.time);
    head = headAt(sealed);
    return sealed;
  });
}

async function putAll(database: Database, events: readonly LoggedEvent[]): Promise<void> {
  for (const event of events) await database.putEvent(event);
}

/** Makes the read model consistent with the events. */
async function refold(
  database: Database,
  before: readonly LoggedPlantEvent[],
  after: readonly LoggedEvent[],
): Promise<void> {
  for (const { event } of before) await database.removePlant(event.owner, event.plantId);
  for (const [owner, rows] of fold(after)) for (const row of rows) await database.putPlant({ owner, ...row });
  await database.setCheckpoint(after.length);
}

/**
 * Ways to change one event of the log of `fillForTampering`: 12 events, a complete read model, and a signed checkpoint
 * of SIGNED events. Verification must find each at exactly the given places.
 */
const CHANGES: readonly Tampering[] = [
  changed('a name changed', 3, () => ({ name: 'Weed' }), { read_model: 'alice/1' }),
  changed('the owner changed', 3, () => ({ owner: 'mallory' }), { read_model: 'alice/1' }),
  changed('an idempotency key invented', 4, () => ({ idempotencyKey: 'k' }), { decisions: 4 }),
  changed('time changed', 3, { time: 1 }),
  changed('the last one’s time changed', 12, { time: Date.UTC(2999) }),
  changed('the event’s id changed', 3, { eventId: '00000000-0000-4000-8000-000000000000' }),
  changed('the issuer invented', 3, () => ({ issuer: 'https://mallory.example' })),
  {
    name: 'a salt changed',
    tamper: (database, events) => database.putEvent({ ...events[2]!, salt: new Uint8Array(16) }),
    found: { contents: 3 },
  },
  {
    name: 'a commitment changed',
    tamper: (database, events) => database.putEvent({ ...events[2]!, commitment: new Uint8Array(32) }),
    found: { chain: 3, contents: 3, checkpoint: SIGNED },
  },
  {
    name: 'what an event says removed, without an erasure',
    tamper: (database, events) => database.putEvent(withoutContent(events[4]!, 12)),
    found: { contents: 5, read_model: 'bob/1' },
  },
  {
    name: 'what an event says removed, for an erasure that is none yet',
    tamper: (database, events) => database.putEvent(withoutContent(events[4]!, 20)),
    found: { contents: 5, read_model: 'bob/1' },
  },
  changed('a hash changed', 3, { hash: new Uint8Array(32) }),
  {
    name: 'a hash cut short',
    tamper: (database, events) => database.putEvent({ ...events[2]!, hash: new Uint8Array(5) }),
    found: 3,
  },
  {
    name: 'an addition turned into a deletion',
    tamper: (database, events) => {
      const { owner, actor, plantId } = events[2]!.event;
      return database.putEvent({
        ...events[2]!,
        type: 'PlantDeleted',
        event: { type: 'PlantDeleted', owner, actor, plantId },
      });
    },
    found: { chain: 3, contents: 3, read_model: 'alice/1', decisions: 3, checkpoint: SIGNED },
  },
];

/** The same for which events, rows and checkpoint there are. */
export const PLACES: readonly Tampering[] = [
  ...[1, 6, 12].map(
    (position): Tampering => ({
      name: `the event at ${position} of 12 deleted`,
      tamper: (database) => database.removeEvent(position),
      found:
        position === 12
          ? { positions: 12, read_model: 'zoe/9' }
          : {
              ...{ positions: position, chain: position },
              // The next event of that plant is its deletion.
              decisions: position + (position === 1 ? 1 : 2),
              checkpoint: position,
            },
    }),
  ),
  {
    name: 'all events deleted',
    tamper: async (database, events) => {
      for (const { position } of events) await database.removeEvent(position);
    },
    found: { positions: 1, read_model: 'alice/1', checkpoint: 1 },
  },
  {
    name: 'two swapped',
    tamper: async (database, events) => {
      await database.putEvent({ ...events[3]!, position: 8 });
      await database.putEvent({ ...events[7]!, position: 4 });
    },
    found: { chain: 4, decisions: 4, checkpoint: SIGNED },
  },
  {
    name: 'one invented at the end',
    tamper: (database, events) =>
      database.putEvent({
        ...events[11]!,
        position: 13,
        eventId: ANOTHER,
        event: { ...events[11]!.event, plantId: 99n },
      }),
    found: { chain: 13, contents: 13 },
  },
  {
    name: 'one invented far behind the end',
    tamper: (database, events) => database.putEvent({ ...events[11]!, position: 20 }),
    found: { positions: 13, chain: 13, decisions: 20 },
  },
  {
    name: 'one invented before the first',
    tamper: (database, events) => database.putEvent({ ...events[0]!, position: 0 }),
    found: 0,
  },
  {
    name: 'one inserted in the middle, the others moved up, no hash changed',
    tamper: async (database, events) => {
      for (const event of events.slice(5).reverse())
        await database.putEvent({ ...event, position: event.position + 1 });
    },
    found: { chain: 7, read_model: 'zoe/9', decisions: 7, checkpoint: SIGNED },
  },
  {
    name: 'rewritten from one event on, every hash recomputed, the read model too: only a checkpoint tells',
    tamper: async (database, events) => {
      const rest = events.slice(5).map(({ event }) => ({ ...event, actor: 'nobody' }));
      await putAll(database, rewritten(events, 6, rest));
    },
    found: { checkpoint: SIGNED },
  },
  {
    name: 'an event taken out, the rest rewritten, the read model too: only a checkpoint tells',
    tamper: async (database, events) => {
      const rest = events.slice(5).map(({ event }) => event);
      const log = [...events.slice(0, 4), ...rewritten(events, 5, rest)];
      await putAll(database, log.slice(4));
      await database.removeEvent(12);
      await refold(database, events, log);
    },
    found: { checkpoint: SIGNED },
  },
  {
    name: 'cut short, the read model too: only a checkpoint tells',
    tamper: async (database, events) => {
      const log = events.slice(0, 8);
      for (const { position } of events.slice(8)) await database.removeEvent(position);
      await refold(database, events, log);
    },
    found: { checkpoint: SIGNED },
  },
  {
    name: 'a row of the read model changed',
    tamper: (database) => database.putPlant({ owner: 'bob', id: 1n, name: 'Weed', tag: undefined }),
    found: { read_model: 'bob/1' },
  },
  {
    name: 'a tag of the read model emptied',
    tamper: (database) => database.putPlant({ owner: 'bob', id: 1n, name: 'Oak', tag: '' }),
    found: { read_model: 'bob/1' },
  },
  {
    name: 'the first row of the read model removed',
    tamper: (database) => database.removePlant('alice', 1n),
    found: { read_model: 'alice/1' },
  },
  {
    name: 'the last row of the read model removed',
    tamper: (database) => database.removePlant('zoe', 9n),
    found: { read_model: 'zoe/9' },
  },
  {
    name: 'a row added to the read model',
    tamper: (database) => database.putPlant({ owner: 'alice', id: 99n, name: 'Weed', tag: undefined }),
    found: { read_model: 'alice/99' },
  },
  {
    name: 'a last row added to the read model',
    tamper: (database) => database.putPlant({ owner: 'zz', id: 1n, name: 'Weed', tag: undefined }),
    found: { read_model: 'zz/1' },
  },
  {
    name: 'a row of the read model given to another owner',
    tamper: async (database) => {
      await database.removePlant('bob', 1n);
      await database.putPlant({ owner: 'carol', id: 1n, name: 'Oak', tag: undefined });
    },
    found: { read_model: 'bob/1' },
  },
  {
    name: 'the checkpoint moved back',
    tamper: (database) => database.setCheckpoint(11),
    found: { read_model: 'zoe/9' },
  },
  {
    name: 'the checkpoint moved beyond the log',
    tamper: (database) => database.setCheckpoint(13),
    found: { positions: 13 },
  },
  ...[13, 40].map(
    (position): Tampering => ({
      name: `the checkpoint with rows removed for an erasure at ${position} of 12 that is none`,
      tamper: (database) => database.setUpTo(position),
      found: {
        read_model: `the checkpoint at position 12 says that an erasure at ${position} removes rows, and there is none: run plantstore audit rebuild`,
      },
    }),
  ),
  {
    name: 'the checkpoint removed',
    tamper: (database) => database.removeCheckpoint(),
    found: {
      read_model: 'the store has lost the checkpoint of its read model: run plantstore audit rebuild',
    },
  },
];

/** Both. */
export const TAMPERINGS: readonly Tampering[] = [...CHANGES, ...PLACES];
