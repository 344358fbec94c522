import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Head, ReadEventsRequestSchema } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import type { Record } from '../../../gen/plantstore/v1/event_pb.ts';
import { audit } from '../api/connect.ts';

/** Which events. */
export interface Selection {
  readonly owner?: string | undefined;
  readonly plantId?: bigint | undefined;
}

/** The end of the log now. */
export async function readHead(signal: AbortSignal): Promise<Head> {
  return (await audit.getHead({}, { signal })).head!;
}

/** The selected events after one position and up to another, in order. */
export async function readStretch(
  after: bigint,
  to: bigint,
  selection: Selection,
  signal: AbortSignal,
): Promise<Record[]> {
  const found: Record[] = [];
  if (to <= after) return found;
  const request = { start: { case: 'afterPosition', value: after }, ...chosen(selection) } as const;
  for await (const { records, position } of untilEnough(request, signal)) {
    found.push(...records.filter(({ event }) => event!.position <= to));
    if (position >= to) break;
  }
  return found;
}

/** All events of a plant, in order. */
export async function readHistory(owner: string, plantId: bigint, signal: AbortSignal): Promise<Record[]> {
  const found: Record[] = [];
  for await (const { records } of audit.getHistory({ owner, plantId }, { signal })) found.push(...records);
  return found;
}

/** The selected events after a position, and new ones until the signal is aborted. */
export const followFrom = (after: bigint, selection: Selection, signal: AbortSignal) =>
  audit.readEvents({ start: { case: 'afterPosition', value: after }, follow: true, ...chosen(selection) }, { signal });

/** The event at a position; undefined if there is none yet. */
export async function readEvent(position: bigint, signal: AbortSignal): Promise<Record | undefined> {
  if (position < 1n || position > (await readHead(signal)).position) return undefined;
  return (await readStretch(position - 1n, position, {}, signal))[0];
}

/** The position of the first event at or after a moment; undefined if there is none. */
export async function positionFrom(milliseconds: number, signal: AbortSignal): Promise<bigint | undefined> {
  const start = { case: 'fromTime', value: timestampFromMs(milliseconds) } as const;
  for await (const { records } of untilEnough({ start }, signal))
    if (records.length > 0) return records[0]!.event!.position;
  return undefined;
}

/** Events as the service sends them, until the caller takes no more: the client would leave the answer open. */
async function* untilEnough(request: MessageInitShape<typeof ReadEventsRequestSchema>, signal: AbortSignal) {
  const enough = new AbortController();
  try {
    yield* audit.readEvents(request, { signal: AbortSignal.any([signal, enough.signal]) });
  } finally {
    enough.abort();
  }
}

/** A field that is not set is left out of the message. */
const chosen = ({ owner, plantId }: Selection) => ({
  ...(owner !== undefined && { owner }),
  ...(plantId !== undefined && { plantId }),
});
