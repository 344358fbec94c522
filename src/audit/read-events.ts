import { create } from '@bufbuild/protobuf';
import {
  type ReadEventsRequest,
  type ReadEventsResponse,
  ReadEventsResponseSchema,
} from '../../gen/plantstore/v1/audit_service_pb.ts';
import { InvalidFieldError } from '../domain/errors.ts';
import { type LoggedEvent, plantEventOf } from '../log/event/event.ts';
import type { EventLog } from '../log/log.ts';
import type { Store } from '../log/store.ts';
import { positionAt } from './fold/as-of.ts';
import { recordMessage } from './formats/event-protobuf.ts';
import { millisecondsOf, partsOf } from './messages.ts';

/** The requested events in order, each once; with `follow`, until the signal aborts. */
export async function* readEvents(
  log: EventLog,
  store: Store,
  request: ReadEventsRequest,
  signal: AbortSignal,
): AsyncGenerator<ReadEventsResponse> {
  const { owner, plantId, follow } = request;
  const isWanted = (logged: LoggedEvent) => {
    if (owner === undefined && plantId === undefined) return true;
    const event = plantEventOf(logged);
    return (
      event !== undefined && (owner ?? event.owner) === event.owner && (plantId ?? event.plantId) === event.plantId
    );
  };
  for await (const batch of log.read(await startOf(log, store, request), { follow, signal })) {
    const parts = partsOf(batch.filter(isWanted));
    for (const part of parts) {
      // The last part covers the events that the filter dropped at the end of the batch.
      const last = part === parts.at(-1) ? batch : part;
      yield create(ReadEventsResponseSchema, {
        records: part.map(recordMessage),
        position: BigInt(last.at(-1)!.position),
      });
    }
  }
}

/** The position to read after. Rejects with INVALID_FIELD if the log does not reach it. */
async function startOf(log: EventLog, store: Store, { start }: ReadEventsRequest): Promise<number> {
  if (start.case === 'fromTime') return positionAt(store, Math.ceil(millisecondsOf(start.value)) - 1);
  const after = Number(start.value ?? 0n);
  const { position } = await log.head();
  if (after >= 0 && after <= position) return after;
  throw new InvalidFieldError('after_position', `must be from 0 to ${position}, the end of the log now`);
}
