import { PlantStoreError } from '../domain/errors.ts';
import { BrokenChainError, isIntact } from '../log/event/chain.ts';
import { type LoggedEvent, plantEventOf } from '../log/event/event.ts';
import type { Selection, Store } from '../log/store.ts';
import { GENERATION_LIMIT } from '../log/tail/follower.ts';
import { asErased, eventAt, intact, wholeRange } from '../log/whole-range.ts';
import { monotonic } from '../time/host.ts';
import { freshAnswer } from '../time/pause.ts';
import { refersToNoErasure } from './checks/contents.ts';

/** Contents were removed while the log was read, which fits no state of it. It can be read again. */
export class ErasedMeanwhileError extends PlantStoreError {
  /** The event whose missing content showed it, if one did, and the position of the erasure that the event names. */
  readonly missing: { readonly position: number; readonly erasedBy: number } | undefined;

  constructor(missing?: ErasedMeanwhileError['missing']) {
    super('OWNER_BEING_ERASED', 'an owner was erased while the log was read: forget what was read, and begin anew');
    this.name = 'ErasedMeanwhileError';
    this.missing = missing;
  }
}

/**
 * Returns a function to call before anything is told that is read from now on. It says whether the owner, or if none is
 * given anybody, was erased since this call. It asks the store unless it did so within the last GENERATION_LIMIT
 * milliseconds.
 */
export async function erasuresSince(store: Store, owner: string | undefined): Promise<() => Promise<boolean>> {
  let askedAt = monotonic();
  let { position } = await store.head();
  // Whom a complete erasure erased is not known any more.
  const isOfOwner = ({ type, erases }: LoggedEvent) =>
    type === 'OwnerErased' && (owner === undefined || (erases?.owner ?? owner) === owner);
  const ask = async () => {
    askedAt = monotonic();
    const { position: to } = await store.head();
    for await (const events of store.read(position, { to, owner: owner ?? '', erasures: true }))
      if (events.some(isOfOwner)) return true;
    position = to;
    return false;
  };
  return async () => monotonic() >= askedAt + GENERATION_LIMIT && freshAnswer(GENERATION_LIMIT, ask);
}

/** Most attempts to read the log while no owner is erased, unless told. */
const MAX_ATTEMPTS = 5;

/**
 * What is read of a log, from its beginning again when contents were removed meanwhile. `read` gets the position of an
 * erasure that showed that, if any did. Rejects with ErasedMeanwhileError when owners are erased one after the other
 * all the while, and with BrokenChainError when the log lacks the erasure that removed a content.
 */
export async function* steadily<Found>(
  store: Store,
  read: (erasure: number) => AsyncIterable<Found>,
  attempts = MAX_ATTEMPTS,
): AsyncGenerator<Found> {
  for (let [attempt, erasure] = [1, 0]; ; attempt++)
    try {
      return yield* read(erasure);
    } catch (error) {
      if (!(error instanceof ErasedMeanwhileError)) throw error;
      const { missing } = error;
      // The erasure was lost, or somebody else removed the content.
      if (missing !== undefined && (await eventAt(store, missing.erasedBy))?.type !== 'OwnerErased')
        throw new BrokenChainError(missing.position, refersToNoErasure(missing.erasedBy));
      if (attempt === attempts) throw error;
      erasure = missing?.erasedBy ?? erasure;
    }
}

/**
 * Makes what is read of a log over some time fit one state of it, although contents are removed meanwhile: of the
 * erasures that had begun before, it shows all contents as removed; of those that began later, none may be missing.
 */
export interface SteadyView {
  /** The next events that were read. Throws ErasedMeanwhileError. */
  take(events: readonly LoggedEvent[]): readonly LoggedEvent[];
  /** An event without its content, if an erasure that had begun removes it. */
  shown(event: LoggedEvent): LoggedEvent;
  /** Whether an erasure had not begun: it removes nothing of what the view shows. */
  isLater(position: number): boolean;
}

/**
 * Opens a view before the log is read. `to`: only erasures up to there count as begun. `isWhole`: the log is read from
 * its first event, so that the view can tell an erasure that was complete from one that was completed meanwhile.
 */
export async function steadyView(
  store: Store,
  { to = Number.POSITIVE_INFINITY, isWhole = true } = {},
): Promise<SteadyView> {
  const { position: head } = await store.head();
  const unfinished = await store.unfinished();
  const begun = unfinished.filter((each) => each.position <= Math.min(to, head) && isIntact(each));
  const isLater = (erasure: number) =>
    erasure > head || (erasure > to && unfinished.some(({ position }) => position === erasure));
  /** Whether the event is a later erasure, and is complete by now: whose contents it removed is not known any more. */
  const isUnknown = ({ position, erases }: LoggedEvent, erased: number) =>
    isWhole && erased > 0 && erases === undefined && isLater(position);

  return {
    take: (events) =>
      events.map((event) => {
        const shown = asErased(event, begun);
        const { position, erasedBy } = shown;
        // Contents that it removes may have been read before.
        if (erasedBy !== undefined && isLater(erasedBy)) throw new ErasedMeanwhileError({ position, erasedBy });
        if (event.event?.type === 'OwnerErased' && isUnknown(event, event.event.erased))
          throw new ErasedMeanwhileError();
        return shown;
      }),
    shown: (event) => asErased(event, begun),
    isLater,
  };
}

/**
 * The events of one owner, or of one plant of theirs, after a position, that have their contents. Of an erasure that
 * had begun before, all are left out that it removes. Rejects with BrokenChainError at the first whose content was
 * changed, and at the end with ErasedMeanwhileError when a later erasure may have removed some.
 */
export async function* eventsOfOwner(
  store: Store,
  only: Pick<Selection, 'id' | 'to' | 'signal'> & { readonly owner: string },
  after = 0,
): AsyncGenerator<readonly LoggedEvent[]> {
  const view = await steadyView(store, { isWhole: false });
  let first: number | undefined;
  for await (const events of store.read(after, only))
    for (const whole of intact(events)) {
      const left = view.take(whole).filter(({ event }) => event !== undefined);
      first ??= left[0]?.position;
      if (left.length > 0) yield left;
    }
  // What is found next is no older.
  await store.head();
  const unfinished = await store.unfinished();
  const isGoingOn = unfinished.some(({ position, erases }) => erases.owner === only.owner && view.isLater(position));
  // One that is complete by now has removed the first, too.
  const isOver = first !== undefined && (await eventAt(store, first))?.event === undefined;
  if (isGoingOn || isOver) throw new ErasedMeanwhileError();
}

/**
 * Of the events of a log, all, or those of one owner, of plants with one id, or both, that have their contents. Of an
 * erasure that had begun before, all are left out that it removes. Yields those of each batch, and the position up to
 * which it reaches. Rejects with ErasedMeanwhileError at a later erasure of the owner, and of anybody if plants of all
 * owners were yielded: nobody could tell what is missing.
 */
export async function* selectedEvents(
  store: Store,
  { owner, id }: Pick<Selection, 'owner' | 'id'>,
  log: AsyncIterable<readonly LoggedEvent[]>,
) {
  if (owner === undefined && id === undefined) {
    for await (const events of log) yield { events, position: events.at(-1)!.position };
    return;
  }
  const view = await steadyView(store, { isWhole: false });
  let first: number | undefined;
  /** Later erasures of which contents are missing. Whose they are is to be found out once something was selected. */
  const met = new Set<number>();
  const ofOthers = new Set<number>();
  const isOfSelected = async ({ erases }: LoggedEvent) => {
    if (erases !== undefined && owner !== undefined) return erases.owner === owner;
    if (first === undefined) return false;
    // Whom it erased is not known any more. It has removed the first event of the owner, too.
    return owner === undefined || (await eventAt(store, first))?.event === undefined;
  };
  const check = async (erasure: LoggedEvent | undefined) => {
    // One that is not there was lost, or somebody else removed the content.
    if (erasure?.type !== 'OwnerErased' || (await isOfSelected(erasure))) throw new ErasedMeanwhileError();
  };
  for await (const batch of log) {
    const shown = batch.map(view.shown);
    const events = shown.filter((logged) => isOf(logged, { owner, id }));
    first ??= events[0]?.position;
    for (const { erasedBy = 0 } of shown) if (view.isLater(erasedBy) && !ofOthers.has(erasedBy)) met.add(erasedBy);
    for (const logged of batch) if (logged.type === 'OwnerErased' && view.isLater(logged.position)) await check(logged);
    // What is selected may stand behind contents of the same owner that were removed before they were read.
    for (const erasure of first === undefined ? [] : met) {
      await check(await eventAt(store, erasure));
      met.delete(erasure);
      ofOthers.add(erasure);
    }
    yield { events, position: batch.at(-1)!.position };
  }
}

function isOf(logged: LoggedEvent, { owner, id }: Pick<Selection, 'owner' | 'id'>): boolean {
  const event = plantEventOf(logged);
  return event !== undefined && (owner ?? event.owner) === event.owner && (id ?? event.plantId) === event.plantId;
}

/**
 * The events after a position up to the log's end, such that an import accepts them: where one is erased, they go on
 * until the OwnerErased event. Rejects with ErasedMeanwhileError when contents were removed while they were read, and
 * with BrokenChainError when an event is missing, or the erasure that an event without content names.
 */
export const exportedEvents = (store: Store, after: number, end: number): AsyncGenerator<readonly LoggedEvent[]> =>
  // What was printed cannot be taken back.
  steadily(store, () => eventsWithErasures(store, after, end), 1);

async function* eventsWithErasures(store: Store, after: number, end: number): AsyncGenerator<readonly LoggedEvent[]> {
  const view = await steadyView(store);
  for (let [last, to] = [after, end]; last < to; ) {
    const goal = to;
    for await (const events of wholeRange(store, last, goal)) {
      const shown = view.take(events);
      for (const { erasedBy = 0 } of shown) to = Math.max(to, erasedBy);
      yield shown;
    }
    last = goal;
  }
}
