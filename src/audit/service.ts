import { create } from '@bufbuild/protobuf';
import {
  type AuditService,
  GetHeadResponseSchema,
  GetHistoryResponseSchema,
  type ListPlantsAsOfRequest,
  type ListPlantsAsOfResponse,
  ListPlantsAsOfResponseSchema,
  type ReadEventsRequest,
  type ReadEventsResponse,
  ReadEventsResponseSchema,
  type VerifyLogRequest,
  type VerifyLogResponse,
} from '../../gen/plantstore/v1/audit_service_pb.ts';
import type { ScopePolicy } from '../auth/principal.ts';
import { whileValid } from '../auth/validity.ts';
import type { Call, Methods, StreamingCall } from '../call.ts';
import { InvalidFieldError, PlantStoreError } from '../domain/errors.ts';
import { required } from '../domain/validation.ts';
import { BrokenChainError } from '../log/event/chain.ts';
import type { EventLog } from '../log/log.ts';
import type { Store } from '../log/store.ts';
import { unavailable } from '../log/unavailable.ts';
import { Semaphore } from '../semaphore.ts';
import { monotonic } from '../time/host.ts';
import { type Checkpoint, openCheckpoint } from '../tlog/checkpoint.ts';
import type { VerifierKey } from '../tlog/verifier-key.ts';
import type { Checkpoints } from '../transparency/checkpoints.ts';
import type { Check, Question } from './checks/check.ts';
import { OF_EACH_EVENT } from './checks/damage.ts';
import { type Moment, plantsAsOf, positionBefore, since } from './fold/as-of.ts';
import { recordMessage } from './formats/formats.ts';
import {
  headMessage,
  millisecondsOf,
  ownedPlantMessage,
  partsOf,
  progressMessage,
  verdictMessage,
} from './messages.ts';
import { ErasedMeanwhileError, erasuresSince, eventsOfOwner, selectedEvents } from './steady.ts';
import { type Verdict, verifyLog } from './verify.ts';

/** Dependencies of the audit. */
export interface AuditOptions {
  readonly log: EventLog;
  readonly store: Store;
  readonly scopes: ScopePolicy;
  readonly checkpoints: Checkpoints;
  readonly key: () => Promise<VerifierKey>;
  /** Opens further checks for a verification. */
  readonly checks: () => Promise<readonly Check[]>;
  /**
   * Called with what each verdict says of the store: the first place where the log is not what was written, and the
   * questions that were answered with no, but for the one about the caller's checkpoint.
   */
  readonly onVerdict: (broken: BrokenChainError | undefined, failedQuestions: readonly Question[]) => void;
}

/** Calls at once that read the whole log, and those of one auditor. Most use a temporary file. */
const LONG_CALLS = { permits: 3, share: 2, maxWait: 500, maxWaiting: 16 };
/** Calls at once that follow the log, and those of one auditor. */
const FOLLOWERS = { permits: 64, share: 16, maxWait: 0, maxWaiting: 0 };
/** Milliseconds between two messages of progress. */
const PROGRESS_INTERVAL = 1_000;

/** plantstore.v1.AuditService. Every call needs the scope `plants:audit` and rejects with PlantStoreError. */
export function implementAudit(options: AuditOptions) {
  const { log, store, scopes, checkpoints } = options;
  const longCalls = new Semaphore(LONG_CALLS);
  const followers = new Semaphore(FOLLOWERS);
  const admit = ({ principal }: Call) => scopes.require(principal, 'plants:audit');

  /** The messages of a stream, for as long as the auditor's token is valid. */
  async function* stream<Message>(
    call: StreamingCall,
    open: (signal: AbortSignal) => AsyncIterable<Message>,
  ): AsyncGenerator<Message> {
    admit(call);
    yield* whileValid(call.principal.validity, (signal) => relayed(open(signal)), call.signal);
  }

  /** The messages of a stream that reads the whole log. Takes a permit of `longCalls` until it ends. */
  async function* long<Message>({ principal }: Call, messages: AsyncIterable<Message>): AsyncGenerator<Message> {
    using _permit = await longCalls.acquire(principal.owner);
    yield* messages;
  }

  /** The requested events. A call that follows the log has no end: it gives its permit back for one of `followers`. */
  async function* read(request: ReadEventsRequest, call: Call, signal: AbortSignal) {
    using _permit = request.follow ? await followers.acquire(call.principal.owner) : undefined;
    if (request.follow) call.beginStream?.();
    yield* readEvents(log, store, request, signal, call);
  }

  return {
    readEvents: (request, call) => stream(call, (signal) => read(request, call, signal)),

    async getHead(_request, call) {
      admit(call);
      const head = await log.head();
      // What cannot be signed can still be read.
      const checkpoint = await checkpoints.latest().then(
        ({ note }) => note,
        () => '',
      );
      return create(GetHeadResponseSchema, { head: headMessage(head), checkpoint });
    },

    listPlantsAsOf: (request, call) => stream(call, (signal) => long(call, listPlantsAsOf(store, request, signal))),

    getHistory: ({ owner, plantId }, call) =>
      // An unset owner is the empty text, which no owner has.
      stream(call, (signal) =>
        long(call, getHistory(store, required('owner', owner || undefined), required('plant_id', plantId), signal)),
      ),

    verifyLog: (request, call) => stream(call, (signal) => long(call, verify(options, request, signal))),
  } satisfies Methods<typeof AuditService>;
}

async function* relayed<Message>(messages: AsyncIterable<Message>): AsyncGenerator<Message> {
  try {
    yield* messages;
  } catch (error) {
    throw unavailable(error);
  }
}

async function* listPlantsAsOf(
  store: Store,
  { asOf, owner }: ListPlantsAsOfRequest,
  signal: AbortSignal,
): AsyncGenerator<ListPlantsAsOfResponse> {
  const { position, plants } = await plantsAsOf(store, momentOf(asOf), ownerOf(owner), signal);
  let sent = false;
  for await (const rows of plants) {
    sent = true;
    yield create(ListPlantsAsOfResponseSchema, { plants: rows.map(ownedPlantMessage), position: BigInt(position) });
  }
  if (!sent) yield create(ListPlantsAsOfResponseSchema, { position: BigInt(position) });
}

/**
 * The owner that a caller asks for. An empty name is refused: it would select nothing, and look like an owner without
 * events.
 */
const ownerOf = (owner: string | undefined): string | undefined =>
  owner === undefined ? undefined : required('owner', owner || undefined);

function momentOf(asOf: ListPlantsAsOfRequest['asOf']): Moment {
  if (asOf.case === 'position') return { position: Number(asOf.value) };
  return asOf.case === 'time' ? { time: millisecondsOf('time', asOf.value) } : undefined;
}

/** The events of a plant, in order. See eventsOfOwner. */
export async function* getHistory(store: Store, owner: string, id: bigint, signal: AbortSignal) {
  const isErased = await erasuresSince(store, owner);
  for await (const events of eventsOfOwner(store, { owner, id, signal }))
    for (const part of partsOf(events)) {
      if (await isErased()) throw new ErasedMeanwhileError();
      yield create(GetHistoryResponseSchema, { records: part.map(recordMessage) });
    }
}

async function* verify(
  { store, key, checks, onVerdict }: AuditOptions,
  request: VerifyLogRequest,
  signal: AbortSignal,
): AsyncGenerator<VerifyLogResponse> {
  const checkpoint = request.checkpoint === undefined ? undefined : trusted(request.checkpoint, await key());
  let reportedAt = 0;
  for await (const step of verifyLog(store, { checkpoint, checks, signal })) {
    if ('answers' in step) {
      onVerdict(brokenIn(step), failedIn(step));
      yield verdictMessage(step);
    } else if (monotonic() >= reportedAt + PROGRESS_INTERVAL) {
      reportedAt = monotonic();
      yield progressMessage(step);
    }
  }
}

function brokenIn({ answers }: Verdict): BrokenChainError | undefined {
  for (const { question, failure } of answers)
    if (OF_EACH_EVENT.includes(question) && failure?.position !== undefined)
      return new BrokenChainError(failure.position, failure.message);
  return undefined;
}

const failedIn = ({ answers }: Verdict): readonly Question[] =>
  answers
    .filter(({ question, failure }) => question !== 'checkpoint' && failure !== undefined && !failure.isUnknown)
    .map(({ question }) => question);

function trusted(note: string, key: VerifierKey): Checkpoint {
  try {
    return openCheckpoint(note, key);
  } catch (error) {
    throw new PlantStoreError('INVALID_FIELD', (error as Error).message, { field: 'checkpoint' }, { cause: error });
  }
}

/** The requested events in order, each once; with `follow`, until the signal aborts. See selectedEvents. */
export async function* readEvents(
  log: EventLog,
  store: Store,
  request: ReadEventsRequest,
  signal: AbortSignal,
  call: Pick<Call, 'sendHeaders'> = {},
): AsyncGenerator<ReadEventsResponse> {
  const { plantId: id, follow, start } = request;
  const owner = ownerOf(request.owner);
  const read = log.read(await startOf(log, store, request), { follow, signal });
  if (follow) call.sendHeaders?.();
  const all = start.case === 'fromTime' ? since(millisecondsOf('from_time', start.value), read) : read;
  for await (const { events, position } of selectedEvents(store, { owner, id }, all)) {
    const parts = partsOf(events);
    for (const part of parts) {
      // The last part covers the events that the filter dropped at the end of the batch.
      const end = part === parts.at(-1) ? position : part.at(-1)!.position;
      yield create(ReadEventsResponseSchema, { records: part.map(recordMessage), position: BigInt(end) });
    }
  }
}

/** The position to read after. Rejects with INVALID_FIELD if the log does not reach it. */
async function startOf(log: EventLog, store: Store, { start }: ReadEventsRequest): Promise<number> {
  if (start.case === 'fromTime') return positionBefore(store, millisecondsOf('from_time', start.value));
  const after = Number(start.value ?? 0n);
  const { position } = await log.head();
  if (after >= 0 && after <= position) return after;
  throw new InvalidFieldError('after_position', `must be from 0 to ${position}, the end of the log now`);
}
