import type { DomainEvent } from '../../domain/events.ts';
import type { LoggedEvent } from './event.ts';
import { DATA_NUMBER, FIELDS, type Field, type FlatEvent } from './fields.ts';

/** The members of an event on one level. */
export const flattened = ({
  position,
  eventId,
  time,
  type,
  commitment,
  hash,
  event,
  salt,
  erasedBy,
}: LoggedEvent): FlatEvent => ({
  ...event,
  position,
  eventId,
  time,
  type,
  salt,
  commitment,
  erasedBy,
  hash,
});

interface Said {
  /** One shared string for all events: each decoded string would be a new one. */
  readonly type: DomainEvent['type'];
  readonly own: readonly Field[];
  readonly foreign: readonly Field[];
}

/**
 * For each type, the content members of an event without the type itself and the salt, and the members of other types,
 * which it must lack. A Map: a look-up in an object by a freshly decoded string keeps V8 from optimizing every function
 * that contains it.
 */
const SAID: ReadonlyMap<DomainEvent['type'], Said> = new Map(
  (Object.keys(DATA_NUMBER) as DomainEvent['type'][]).map((type) => [
    type,
    {
      type,
      own: FIELDS.filter(({ name, of }) => name !== 'salt' && of?.includes(type)),
      foreign: FIELDS.filter(({ of }) => of !== undefined && !of.includes(type)),
    },
  ]),
);

/** The members that every event has, erased or not. */
const FRAME = FIELDS.filter(({ of, part }) => of === undefined && part !== 'store');

/**
 * The event with these members, each of its kind. Throws with the reason when no event has them: a member is missing,
 * invalid, of another event type, or present although the event is erased.
 */
export function unflattened(flat: FlatEvent): LoggedEvent {
  for (const field of FRAME) check(field, flat[field.name]);
  const { position, eventId, time, commitment, hash, salt, erasedBy } = flat as LoggedEvent & FlatEvent;
  const members = SAID.get(flat.type as DomainEvent['type']);
  if (members === undefined) throw new RangeError(`there is no event of type ${flat.type}`);
  const { type } = members;
  for (const { name } of members.foreign)
    if (flat[name] !== undefined) throw new RangeError(`no ${type} has the member ${name}`);
  if (erasedBy !== undefined) {
    for (const { name } of [...members.own, SALT_FIELD])
      if (flat[name] !== undefined) throw new RangeError(`an erased event has no member ${name}`);
    check(ERASED_BY_FIELD, erasedBy);
    if (type === 'OwnerErased') throw new RangeError('no OwnerErased is erased');
    return { position, eventId, time, type, commitment, hash, event: undefined, salt: undefined, erasedBy };
  }
  check(SALT_FIELD, salt);
  const event: Record<string, unknown> = { type };
  for (const field of members.own) {
    const value = flat[field.name];
    check(field, value);
    event[field.name] = value;
  }
  const said = event as unknown as DomainEvent;
  return { position, eventId, time, type, commitment, hash, event: said, salt, erasedBy: undefined };
}

const fieldOf = (name: keyof FlatEvent): Field => FIELDS.find((field) => field.name === name)!;
const SALT_FIELD = fieldOf('salt');
const ERASED_BY_FIELD = fieldOf('erasedBy');

function check({ name, isOptional, isValid }: Field, value: unknown): void {
  if (value === undefined) {
    if (isOptional) return;
    throw new RangeError(`its member ${name} is missing`);
  }
  if (isValid !== undefined && !isValid(value as never)) throw new RangeError(`its member ${name} is malformed`);
}
