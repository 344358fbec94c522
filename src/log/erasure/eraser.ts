import type { EraseOwner } from '../../domain/decider.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { monotonic, randomBytes } from '../../time/host.ts';
import { pause } from '../../time/pause.ts';
import { refused } from '../commit/appender.ts';
import { subjectOf, verifyContent } from '../event/chain.ts';
import { type Committed, type Erases, KEY_BYTES, type LoggedEvent, plantEventOf } from '../event/event.ts';
import { RefusedAppendError } from '../store.ts';
import { type Follower, GENERATION_LIMIT } from '../tail/follower.ts';
import { eventAt } from '../whole-range.ts';
import { type EraseProgress, eventsErased, type Finisher } from './finisher.ts';

/** Whom to erase, and at whose request. */
export interface EraseRequest {
  readonly owner: string;
  readonly actor: string;
  readonly issuer?: string | undefined;
  /** Key of the event's subject, of KEY_BYTES. Undefined: a random one. */
  readonly key?: Uint8Array | undefined;
}

/** The result of an erasure. Without a position, the owner had no events with content and nothing was done. */
export interface Erased {
  readonly position: number | undefined;
  /** Events that lost their content. */
  readonly events: number;
  /** Key of the event's subject. Undefined without a position. */
  readonly key: Uint8Array | undefined;
}

/** The parts that the eraser uses. */
export interface EraserParts {
  readonly follower: Follower;
  readonly finisher: Finisher;
  readonly submit: (command: EraseOwner) => Promise<Committed>;
}

/** Most attempts to count faster than the log moves on. */
const MAX_ATTEMPTS = 20;
/** Milliseconds between two checks of what another instance finishes. */
const POLL_INTERVAL = 50;
/** Milliseconds without a step of the read model after which nobody waits for it. */
const STALL_LIMIT = 60_000;

/** The owner's events with content up to a position. */
type Counted = Pick<EraseOwner, 'counted' | 'countedTo'>;

const NONE: Counted = { counted: 0, countedTo: 0 };

const NOTHING: Erased = { position: undefined, events: 0, key: undefined };

/**
 * Erases an owner. OwnerErased is an event like any other: it is decided at the head, and from its position on the
 * owner has no plants. What is left to do concerns only earlier positions; see Finisher. Its number of erased events is
 * exact: this instance counts up to a position, and the writer adds what came after.
 *
 * Yields progress, and the result last: once nothing of the owner from before is in the store, but for
 * the name until the topic has the event. With the key of an earlier call, it waits for the end of that erasure, and
 * erases nothing more. Rejects with MAY_NOT_ERASE, with OWNER_BEING_ERASED when the read model does not move or a
 * reader of the SQLite database holds up the end, and when the store cannot be reached; what has begun then continues
 * later.
 */
export async function* eraseOwner(parts: EraserParts, request: EraseRequest): AsyncGenerator<EraseProgress | Erased> {
  const erased = yield* erase(parts, request);
  if (erased.position !== undefined) {
    // Until then another instance may tell of the owner what it knew before; see GENERATION_LIMIT.
    await pause(2 * GENERATION_LIMIT);
    // The name, which goes last. Also if another call, or a process before this one, has erased.
    await parts.follower.store.cleared();
  }
  yield erased;
}

async function* erase(parts: EraserParts, request: EraseRequest): AsyncGenerator<EraseProgress, Erased> {
  const { follower } = parts;
  const { store, tail } = follower;
  const { owner, key = randomBytes(KEY_BYTES) } = request;
  if ((await store.missingRights()).erasure.length > 0) throw mayNotErase();
  let [earlier, counted] = [NOTHING, NONE];
  for (let attempt = 1; ; attempt++) {
    await follower.sync();
    const to = tail.head.position;
    // A later erasure has removed nothing that is counted here; otherwise the writer refuses the count.
    earlier = (yield* finishEarlier(parts, owner)) ?? earlier;
    const found = yield* count(parts, { owner, key }, counted, to);
    if ('position' in found) return yield* outcome(parts, found.position, key);
    counted = found;
    // The tail now has every erasure that removed something while it was counted.
    await follower.sync();
    if (counted.counted === 0 && tail.countSince(owner, to) === 0) return earlier;
    try {
      yield { step: 'event' };
      // Before the event, at which every instance reads it again. Then no log says any more who this owner is.
      await renewOwnerKey(parts);
      const { position } = await parts.submit({ type: 'EraseOwner', ...request, ...counted, key });
      yield { step: 'read_model', appended: { position, key } };
      return yield* outcome(parts, position, key);
    } catch (error) {
      if (!isOutdated(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function renewOwnerKey({ follower }: EraserParts): Promise<void> {
  try {
    await follower.store.ownerKey(true);
  } catch (error) {
    throw error instanceof RefusedAppendError ? refused(error) : error;
  }
}

/** Counts an owner's events on, up to a position. Returns the OwnerErased event of the key, if there is one. */
async function* count(
  parts: EraserParts,
  erases: Pick<Erases, 'owner' | 'key'>,
  from: Counted,
  to: number,
): AsyncGenerator<EraseProgress, Counted | LoggedEvent> {
  const { owner } = erases;
  const subject = subjectOf(erases);
  let { counted } = from;
  for await (const events of parts.follower.store.read(from.countedTo, { to, owner, erasures: true })) {
    for (const logged of events) {
      if (plantEventOf(logged)?.owner === owner) counted++;
      if (logged.event?.type !== 'OwnerErased') continue;
      if (logged.event.subject !== undefined && Buffer.compare(logged.event.subject, subject) === 0) return logged;
      // It may have removed what was counted before.
      if (from.countedTo > 0 && (logged.erases?.owner ?? owner) === owner) return yield* count(parts, erases, NONE, to);
    }
    yield { step: 'count', done: counted };
  }
  return { counted, countedTo: to };
}

async function* outcome(parts: EraserParts, position: number, key: Uint8Array): AsyncGenerator<EraseProgress, Erased> {
  yield* finished(parts, position);
  return { position, events: eventsErased(await eventAt(parts.follower.store, position)), key };
}

/** Finishes the owner's erasures that have begun. Returns the outcome of the last. */
async function* finishEarlier(parts: EraserParts, owner: string): AsyncGenerator<EraseProgress, Erased | undefined> {
  let last: Erased | undefined;
  for (const unfinished of await parts.finisher.findUnfinished()) {
    const { position, erases } = unfinished;
    if (erases.owner !== owner) continue;
    yield* finished(parts, position);
    last = { position, events: eventsErased(unfinished), key: erases.key };
  }
  return last;
}

/** Finishes an erasure, but for the topic, or waits for another instance that does. */
async function* finished(parts: EraserParts, position: number): AsyncGenerator<EraseProgress> {
  const { finisher, follower } = parts;
  let [reached, deadline] = [-1, monotonic() + STALL_LIMIT];
  for (;;) {
    await follower.sync();
    // Another instance may have appended the event. Until this one has read it, a deposed server knows of no erasure,
    // as if it were complete.
    const isRead = follower.tail.head.position >= position;
    const mine = isRead ? (await finisher.findUnfinished()).find((each) => each.position === position) : undefined;
    if (isRead && (mine === undefined || finisher.waitsForTopic(mine))) return;
    // Throws for an erasure that does not verify, which the finisher leaves out.
    if (mine !== undefined) verifyContent(mine);
    const at = mine === undefined ? 0 : await follower.store.checkpoint();
    if (mine !== undefined && at >= position) {
      // Another instance may do the work, and reports nothing here. Each yield also notices a caller who has left.
      yield { step: 'contents' };
      yield* during(parts, position);
    } else {
      if (at > reached) [reached, deadline] = [at, monotonic() + STALL_LIMIT];
      if (monotonic() > deadline) throw stuck(position);
      yield { step: 'read_model' };
    }
    await pause(POLL_INTERVAL);
  }
}

async function* during({ finisher }: EraserParts, position: number): AsyncGenerator<EraseProgress> {
  let isOver = false;
  const over = finisher.finish().finally(() => {
    isOver = true;
  });
  // Whoever reads the progress may stop at any time.
  over.catch(() => {});
  for (; !isOver; await pause(POLL_INTERVAL)) {
    const progress = finisher.progress(position);
    if (progress !== undefined) yield progress;
  }
  await over;
}

const mayNotErase = () =>
  new PlantStoreError(
    'MAY_NOT_ERASE',
    'the database user may not update `events`: run plantstore erase with a MONGODB_URI whose user may, or give its role `update` there',
  );

const stuck = (position: number) =>
  new PlantStoreError(
    'OWNER_BEING_ERASED',
    `the erasure has begun at position ${position}, which this instance or the read model does not reach; repeat the call with the same subject key to wait for the end`,
  );

const isOutdated = (error: unknown): boolean => error instanceof PlantStoreError && error.reason === 'COUNT_OUTDATED';
