import { monotonic, randomBytes, wallTime, yieldTurn } from '../time/host.ts';
import { BrokenChainError, headAfterIntact, headAt, seal, subjectOf } from './event/chain.ts';
import { decodeStored } from './event/decode.ts';
import { encodeContent, encodeEvent, type Unsealed } from './event/encode.ts';
import {
  begunErasure,
  EMPTY_HEAD,
  type Erases,
  type Head,
  KEY_BYTES,
  type LoggedEvent,
  plantEventOf,
} from './event/event.ts';
import type { Store } from './store.ts';

/**
 * The members of an event as 1.0.0 kept it, by name. An absent one is no member. Integers and times (in milliseconds
 * since 1970) are bigints.
 */
export type FormerEvent = Readonly<Record<string, unknown>>;

/** The members that are whole numbers below 2^53. */
const NUMBERS: ReadonlySet<string> = new Set(['position', 'time', 'erased', 'erasedBy']);

type Frame = Omit<Unsealed, 'event'> & Pick<LoggedEvent, 'hash' | 'salt' | 'erasedBy'>;

/** The members that every event has, erased or not. */
const FRAME = ['position', 'eventId', 'time', 'type', 'commitment', 'hash'] as const;

/**
 * The event that 1.0.0 kept in these members: the next one after `head`, with the position and hash that it has always
 * had. Throws BrokenChainError unless all of the members follow from it and it continues the log.
 */
export function takenOver(former: FormerEvent, head: Head): LoggedEvent {
  try {
    const event = encoded(membersOf(former));
    headAfterIntact(head, event);
    return event;
  } catch (error) {
    // A database that somebody has changed, or a damaged one, holds any type, which no encoder takes.
    throw error instanceof BrokenChainError ? error : new BrokenChainError(head.position + 1, (error as Error).message);
  }
}

function membersOf(former: FormerEvent): FormerEvent {
  const members: Record<string, unknown> = { ...former };
  for (const name of NUMBERS) {
    if (former[name] === undefined) continue;
    if (typeof former[name] !== 'bigint') throw new RangeError(`its member ${name} has another type`);
    members[name] = Number(former[name]);
  }
  return members;
}

function encoded(former: FormerEvent): LoggedEvent {
  for (const name of FRAME) if (former[name] === undefined) throw new RangeError(`its member ${name} is missing`);
  const { position, eventId, time, type, commitment, hash, salt, erasedBy, ...said } = former as unknown as Frame;
  const event = { type, ...said } as LoggedEvent['event'] & object;
  const content = salt === undefined ? undefined : encodeContent(event, salt);
  const bytes = encodeEvent({ position, eventId, time, type, commitment, event });
  const logged = decodeStored({ position, bytes, hash, content, erasedBy });
  // What no byte of the event says would be lost without a trace.
  for (const [name, value] of Object.entries(said))
    if (logged.event?.[name as keyof object] !== value)
      throw new RangeError(`its member ${name} is not that of its event`);
  return logged;
}

/** An erasure that 1.0.0 has begun: a note beside the log, and what the log has of it. */
export interface FormerErasure {
  readonly owner: string;
  /** The id of its OwnerErased event, which may not be in the log yet. */
  readonly eventId: string;
  readonly actor: string;
  readonly issuer: string | undefined;
  readonly isErased: boolean;
  /** Whether the topic has the event, or none is needed. */
  readonly isPublished: boolean;
  /** Position of its OwnerErased event, if that is there. */
  position: number | undefined;
  /** The owner's events with content. */
  events: number;
}

/** The events of a store of 1.0.0, as it keeps them. */
export interface FormerLog<Kept> {
  /** Position of the last event. */
  readonly total: number;
  /** The next events after a position. None: the log ends there. */
  read(after: number): Promise<readonly Kept[]>;
  /** The event, which comes after `head`. Throws like `takenOver`. */
  eventOf(kept: Kept, head: Head): LoggedEvent;
}

/**
 * Verifies all events, and hands them on in batches, with what stands beside those of the notes. The notes learn what
 * the log has of them. Yields progress, and returns the end of the log.
 */
export async function* walked<Kept>(
  { total, read, eventOf }: FormerLog<Kept>,
  notes: readonly FormerErasure[],
  what: string,
  take: (events: readonly LoggedEvent[]) => Promise<unknown>,
): AsyncGenerator<UpgradeStep, Head> {
  let head = EMPTY_HEAD;
  for (; ; await yieldTurn()) {
    const kept = await read(head.position);
    if (kept.length === 0) return head;
    yield { what, done: head.position, total };
    const events = kept.map((each) => {
      const event = eventOf(each, head);
      head = headAt(event);
      return withErases(event, notes);
    });
    await take(events);
  }
}

function withErases(event: LoggedEvent, notes: readonly FormerErasure[]): LoggedEvent {
  let erases: Erases | undefined;
  const owner = plantEventOf(event)?.owner;
  for (const note of notes)
    if (note.eventId === event.eventId) {
      note.position = event.position;
      erases = { owner: note.owner, key: new Uint8Array(), isCleared: note.isErased, isPublished: note.isPublished };
    } else if (note.owner === owner) note.events++;
  return erases === undefined ? event : { ...event, erases };
}

/**
 * Appends the OwnerErased events that 1.0.0 had only noted, onto the end of the log that `walked` has found. So it is
 * done once, whatever other calls do. Rejects if one of them was faster.
 */
export async function appendErasures(
  store: Pick<Store, 'append'>,
  end: Head,
  notes: readonly FormerErasure[],
): Promise<void> {
  let head = end;
  for (const note of notes) {
    if (note.position !== undefined || note.events === 0) continue;
    const event = erasureAfter(head, note);
    if ((await store.append([event])) === 0) throw new Error('another upgrade runs: run plantstore upgrade again');
    head = headAt(event);
  }
}

function erasureAfter(head: Head, { owner, eventId, actor, issuer, events }: FormerErasure): LoggedEvent {
  const key = randomBytes(KEY_BYTES);
  const event = { type: 'OwnerErased', actor, issuer, erased: events, subject: subjectOf({ owner, key }) } as const;
  return { ...seal(head, event, eventId, wallTime()), erases: begunErasure(owner, key) };
}

/** Makes the rows and nodes of a store those of its log, and yields the positions reached. */
export type Repair = (store: Store) => AsyncIterable<{ readonly position: number }>;

/** Makes the read model and the tree of a store whose events are taken over. */
export async function* folded(store: Store, repair: Repair): AsyncGenerator<UpgradeStep> {
  const { position: total } = await store.head();
  for await (const { position: done } of repair(store)) yield { what: 'folded into the plants', done, total };
}

/** How far an upgrade is. */
export interface UpgradeStep {
  /** What is done to events, such as `copied`. */
  readonly what: string;
  readonly done: number;
  readonly total: number;
}

/** Milliseconds between two lines about the same work. */
const PROGRESS_INTERVAL = 5_000;

/**
 * Does an upgrade to its end, and tells of it at the start, every few seconds and at the end. Returns whether there was
 * anything to do, and tells nothing otherwise. Rejects when the signal aborts; it may go on later.
 */
export async function reportUpgrade(
  steps: AsyncIterable<UpgradeStep>,
  tell: (line: string) => void,
  signal?: AbortSignal,
): Promise<boolean> {
  const began = monotonic();
  let [reportedAt, last] = [began, ''];
  for await (const { what, done, total } of steps) {
    signal?.throwIfAborted();
    if (last === '') tell('the store is of release 1.0.0 and is being upgraded; if interrupted, do so again');
    if (last === what && monotonic() < reportedAt + PROGRESS_INTERVAL) continue;
    [reportedAt, last] = [monotonic(), what];
    tell(`${done.toLocaleString('en')} of ${total.toLocaleString('en')} events ${what}`);
  }
  if (last !== '') tell(`the store is upgraded, after ${Math.round((monotonic() - began) / 1_000)} s`);
  return last !== '';
}
