import { type LoggedEvent, plantEventOf } from './event.ts';

/** What a store finds an event by. It follows from the content. Undefined: the event has none, or no content. */
export interface EventKeys {
  readonly owner: string | undefined;
  readonly plantId: bigint | undefined;
  readonly idempotencyKey: string | undefined;
}

/** The keys of an event. */
export function keysOf(logged: LoggedEvent): EventKeys {
  const { owner, plantId, idempotencyKey } = plantEventOf(logged) ?? {};
  return { owner, plantId, idempotencyKey };
}

/** The event, and whether what a store keeps as its keys are its keys. */
export function withKeys(logged: LoggedEvent, kept: { readonly [Name in keyof EventKeys]: unknown }): LoggedEvent {
  const keys = keysOf(logged);
  const wrong = (Object.keys(keys) as (keyof EventKeys)[]).find((name) => kept[name] !== keys[name]);
  if (wrong === undefined) return logged;
  return { ...logged, misfiled: `the ${wrong} in the index of the store differs from that of the event` };
}
