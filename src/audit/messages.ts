import { create } from '@bufbuild/protobuf';
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type Head as HeadMessage,
  HeadSchema,
  type ListPlantsAsOfResponse_OwnedPlant,
  ListPlantsAsOfResponse_OwnedPlantSchema,
  type VerifyLogResponse,
  VerifyLogResponseSchema,
} from '../../gen/plantstore/v1/audit_service_pb.ts';
import { InvalidFieldError } from '../domain/errors.ts';
import { setFields } from '../domain/plant.ts';
import { slices } from '../log/batches.ts';
import type { Head } from '../log/event/event.ts';
import { isTime } from '../log/event/fields.ts';
import type { OwnedRow } from '../log/store.ts';
import type { Failure } from './checks/check.ts';
import type { Progress, Verdict } from './verify.ts';

/**
 * The timestamp of a field in milliseconds since 1970; a half stands for any fraction, which a sum would round to 0 or
 * 1. Throws INVALID_FIELD for what is none.
 */
export function millisecondsOf(field: string, { seconds, nanos }: Timestamp): number {
  const start = Number(seconds) * 1_000;
  if (!isTime(start) || nanos < 0 || nanos > 999_999_999)
    throw new InvalidFieldError(field, 'must be from the year 1 to 9999, with 0 to 999999999 nanoseconds');
  return start + Math.floor(nanos / 1_000_000) + (nanos % 1_000_000 === 0 ? 0 : 0.5);
}

/** A head as a message. That of an empty log has no time. */
export const headMessage = ({ position, hash, time }: Head): HeadMessage =>
  create(HeadSchema, {
    position: BigInt(position),
    hash,
    ...(position > 0 && { time: timestampFromMs(time) }),
  });

/** A row of the fold as a message. */
export const ownedPlantMessage = (row: OwnedRow): ListPlantsAsOfResponse_OwnedPlant =>
  create(ListPlantsAsOfResponse_OwnedPlantSchema, { owner: row.owner, id: row.id, ...setFields(row) });

/** The progress of a verification as a message. */
export const progressMessage = ({ position, end }: Progress): VerifyLogResponse =>
  create(VerifyLogResponseSchema, {
    step: { case: 'progress', value: { position: BigInt(position), end: BigInt(end) } },
  });

/** The verdict of a verification as a message. */
export const verdictMessage = ({ ok, head, checkpoint, answers }: Verdict): VerifyLogResponse =>
  create(VerifyLogResponseSchema, {
    step: {
      case: 'verdict',
      value: {
        ok,
        ...(head !== undefined && { head: headMessage(head) }),
        ...(checkpoint !== undefined && { checkpoint: BigInt(checkpoint) }),
        answers: answers.map(({ question, failure }) =>
          failure === undefined ? { question } : { question, failure: failureOf(failure) },
        ),
      },
    },
  });

const failureOf = ({ message, position, plant }: Failure) => ({
  message,
  ...(position !== undefined && { position: BigInt(position) }),
  ...(plant !== undefined && { owner: plant.owner, plantId: plant.id }),
});

/** Most events or plants in a message: the largest stay below 4 MiB, the default limit of gRPC clients. */
const PER_MESSAGE = 200;

/** Splits a batch into parts of one message each. At least one part, which may be empty. */
export function partsOf<Item>(batch: readonly Item[]): readonly (readonly Item[])[] {
  return batch.length === 0 ? [batch] : [...slices(batch, PER_MESSAGE)];
}
