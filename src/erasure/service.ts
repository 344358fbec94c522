import { create } from '@bufbuild/protobuf';
import {
  type EraseOwnerRequest,
  type EraseOwnerResponse,
  EraseOwnerResponse_Result,
  EraseOwnerResponseSchema,
  type ErasureService,
} from '../../gen/plantstore/v1/erasure_service_pb.ts';
import { isName, NAME_RULE, type Principal, type ScopePolicy } from '../auth/principal.ts';
import { whileValid } from '../auth/validity.ts';
import type { Methods } from '../call.ts';
import { InvalidFieldError } from '../domain/errors.ts';
import type { Erased } from '../log/erasure/eraser.ts';
import type { EraseProgress } from '../log/erasure/finisher.ts';
import { KEY_BYTES } from '../log/event/event.ts';
import type { EventLog } from '../log/log.ts';
import { unavailable } from '../log/unavailable.ts';
import { monotonic } from '../time/host.ts';

/** Milliseconds between two messages of progress. */
const PROGRESS_INTERVAL = 1_000;

/** plantstore.v1.ErasureService. Every call needs the scope `plants:erase` and rejects with PlantStoreError. */
export function implementErasure(log: Pick<EventLog, 'erase'>, scopes: ScopePolicy) {
  async function* eraseOwner(
    { owner, subjectKey }: EraseOwnerRequest,
    { actor, issuer }: Principal,
  ): AsyncGenerator<EraseOwnerResponse> {
    if (!isName(owner)) throw new InvalidFieldError('owner', NAME_RULE);
    if (subjectKey.length > 0 && subjectKey.length !== KEY_BYTES)
      throw new InvalidFieldError('subject_key', `must have ${KEY_BYTES} bytes, or be empty`);
    const key = subjectKey.length > 0 ? subjectKey : undefined;
    let reportedAt = 0;
    try {
      for await (const step of log.erase({ owner, actor, issuer, key })) {
        if ('step' in step && step.appended === undefined && monotonic() < reportedAt + PROGRESS_INTERVAL) continue;
        reportedAt = monotonic();
        yield messageOf(step);
      }
    } catch (error) {
      throw unavailable(error);
    }
  }

  return {
    eraseOwner(request, { principal, signal }) {
      scopes.require(principal, 'plants:erase');
      return whileValid(principal.validity, () => eraseOwner(request, principal), signal);
    },
  } satisfies Methods<typeof ErasureService>;
}

const messageOf = (step: EraseProgress | Erased): EraseOwnerResponse =>
  create(EraseOwnerResponseSchema, {
    step: 'step' in step ? { case: 'progress', value: progressOf(step) } : { case: 'outcome', value: outcomeOf(step) },
  });

const progressOf = ({ step, done, total, appended }: EraseProgress) => ({
  step,
  done: BigInt(done ?? 0),
  total: BigInt(total ?? 0),
  ...(appended && { position: BigInt(appended.position), subjectKey: appended.key }),
});

const outcomeOf = ({ position, events, key }: Erased) => ({
  position: BigInt(position ?? 0),
  events: BigInt(events),
  result: position === undefined ? EraseOwnerResponse_Result.NOTHING_TO_ERASE : EraseOwnerResponse_Result.ERASED,
  ...(key && { subjectKey: key }),
});
