import { create, type Message, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ForwardedCommand as CommandMessage,
  type ForwardRequest,
  ForwardRequestSchema,
  type ForwardResponse,
  ForwardResponseSchema,
  type Outcome as OutcomeMessage,
  type OutcomeSchema,
  type Refused,
} from '../../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import type { Command } from '../../domain/decider.ts';
import { ERRORS, PlantStoreError, type Reason } from '../../domain/errors.ts';
import { type Plant, setFields, withId } from '../../domain/plant.ts';
import type { Answers, CommandOutcome, ForwardedBatch, ForwardedCommand } from '../../log/forward/hop.ts';

/** The protobuf message of a batch. */
export const toRequest = ({ after, commands }: ForwardedBatch): ForwardRequest =>
  create(ForwardRequestSchema, {
    afterPosition: BigInt(after),
    commands: commands.map(({ number, eventId, timeLeft, command }) => {
      const { owner, actor, issuer, idempotencyKey, traceparent } = command;
      return {
        number,
        eventId,
        owner,
        actor,
        ...(issuer !== undefined && { issuer }),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        ...(traceparent !== undefined && { traceparent }),
        timeLeft: Math.max(0, Math.round(timeLeft)),
        command: actionOf(command),
      };
    }),
  });

function actionOf(command: Command) {
  if (command.type === 'DeletePlant') return { case: 'deletePlant', value: { id: command.id } } as const;
  if (command.type === 'EraseOwner') {
    const { counted, countedTo, key } = command;
    return { case: 'eraseOwner', value: { counted: BigInt(counted), countedTo: BigInt(countedTo), key } } as const;
  }
  const { plant } = command;
  return { case: 'addPlant', value: { id: plant.id, ...setFields(plant) } } as const;
}

/** The batch of a message. Throws on what this release does not know: it would apply only a part of a command. */
export const fromRequest = ({ afterPosition, commands }: ForwardRequest): ForwardedBatch => ({
  after: Number(afterPosition),
  commands: commands.map(commandOf),
});

function commandOf({ number, eventId, timeLeft, ...message }: CommandMessage): ForwardedCommand {
  refuseUnknownFields(message);
  if (message.command.value !== undefined) refuseUnknownFields(message.command.value);
  return { number, eventId, timeLeft, command: askedOf(message) };
}

function askedOf(message: Omit<CommandMessage, 'number' | 'eventId' | 'timeLeft'>): Command {
  const { owner, actor, issuer, idempotencyKey, traceparent, command } = message;
  const about = { owner, actor, issuer, traceparent };
  switch (command.case) {
    case 'deletePlant':
      return { ...about, idempotencyKey, type: 'DeletePlant', id: command.value.id };
    case 'addPlant': {
      // Instances of 1.0.0 leave out an id 0 and an empty name.
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

/** The protobuf message of answers. */
export const toResponse = ({ position, outcomes, leaving }: Answers): ForwardResponse =>
  create(ForwardResponseSchema, { position: BigInt(position), outcomes: outcomes.map(toOutcome), leaving });

function toOutcome(outcome: CommandOutcome): MessageInitShape<typeof OutcomeSchema> {
  const { number } = outcome;
  switch (outcome.kind) {
    case 'applied': {
      const { position, eventId } = outcome;
      return { number, outcome: { case: 'applied', value: { position: BigInt(position), eventId } } };
    }
    case 'refused': {
      const { reason, message, details } = outcome.error;
      const { retryAfter } = details;
      const value = { reason, message, ...(retryAfter !== undefined && { retryAfter }) };
      return { number, outcome: { case: 'refused', value } };
    }
    case 'returned':
      return { number, outcome: { case: 'returned', value: {} } };
  }
}

/** The answers of a protobuf message. Throws on an outcome of a kind unknown to this release. */
export const fromResponse = ({ position, outcomes, leaving }: ForwardResponse): Answers => ({
  position: Number(position),
  outcomes: outcomes.map(fromOutcome),
  leaving,
});

function fromOutcome({ number, outcome }: OutcomeMessage): CommandOutcome {
  switch (outcome.case) {
    case 'applied': {
      const { position, eventId } = outcome.value;
      return { kind: 'applied', number, position: Number(position), eventId };
    }
    case 'refused':
      return { kind: 'refused', number, error: errorOf(outcome.value) };
    case 'returned':
      return { kind: 'returned', number };
    default:
      throw new Error('an outcome of an unknown kind');
  }
}

/** A reason that only a newer release knows has no code here. The caller gets an internal failure. */
const errorOf = ({ reason, message, retryAfter }: Refused): PlantStoreError =>
  Object.hasOwn(ERRORS, reason)
    ? new PlantStoreError(reason as Reason, message, retryAfter === undefined ? {} : { retryAfter })
    : new PlantStoreError('INTERNAL', message);
