import { create, type Message } from '@bufbuild/protobuf';
import {
  type ForwardedCommand,
  ForwardedCommandSchema,
  type Refused,
  RefusedSchema,
} from '../../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import type { Command } from '../../domain/decider.ts';
import { ERRORS, PlantStoreError, type Reason } from '../../domain/errors.ts';
import { type Plant, setFields, withId } from '../../domain/plant.ts';

/** A command as a message. `about`: what is told beside it. */
export function messageOf(
  command: Command,
  about: Pick<ForwardedCommand, 'number' | 'eventId' | 'timeLeft'>,
): ForwardedCommand {
  const { owner, actor, issuer, idempotencyKey, traceparent } = command;
  return create(ForwardedCommandSchema, {
    ...about,
    owner,
    actor,
    ...(issuer !== undefined && { issuer }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(traceparent !== undefined && { traceparent }),
    command: actionOf(command),
  });
}

function actionOf(command: Command) {
  if (command.type === 'DeletePlant') return { case: 'deletePlant', value: { id: command.id } } as const;
  if (command.type === 'EraseOwner') {
    const { counted, countedTo, key } = command;
    return { case: 'eraseOwner', value: { counted: BigInt(counted), countedTo: BigInt(countedTo), key } } as const;
  }
  const { plant } = command;
  return { case: 'addPlant', value: { id: plant.id, ...setFields(plant) } } as const;
}

/** The command of a message. Throws on what this release does not know: it would apply only a part of a command. */
export function commandOf(message: ForwardedCommand): Command {
  const { owner, actor, issuer, idempotencyKey, traceparent, command } = message;
  refuseUnknownFields(message);
  if (command.value !== undefined) refuseUnknownFields(command.value);
  const about = { owner, actor, issuer, traceparent };
  switch (command.case) {
    case 'deletePlant':
      return { ...about, idempotencyKey, type: 'DeletePlant', id: command.value.id };
    case 'addPlant': {
      const { id = 0n, name = '', ...texts } = command.value;
      return { ...about, idempotencyKey, type: 'AddPlant', plant: withId(id, { ...texts, name } as Plant) };
    }
    case 'eraseOwner': {
      const { counted, countedTo, key } = command.value;
      return { ...about, type: 'EraseOwner', counted: Number(counted), countedTo: Number(countedTo), key };
    }
    default:
      throw new Error('a command of an unknown kind');
  }
}

function refuseUnknownFields({ $unknown }: Pick<Message, '$unknown'>): void {
  if ($unknown !== undefined) throw new Error('a command with a field unknown to this release');
}

/** The refusal of a command as a message. */
export function refusalOf({ reason, message, details: { retryAfter } }: PlantStoreError): Refused {
  return create(RefusedSchema, { reason, message, ...(retryAfter !== undefined && { retryAfter }) });
}

/** A reason that only a newer release knows has no code here. The caller gets an internal failure. */
export const errorOf = ({ reason, message, retryAfter }: Refused): PlantStoreError =>
  Object.hasOwn(ERRORS, reason)
    ? new PlantStoreError(reason as Reason, message, retryAfter === undefined ? {} : { retryAfter })
    : new PlantStoreError('INTERNAL', message);
