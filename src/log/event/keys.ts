import { BrokenChainError } from './chain.ts';
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

/** Throws BrokenChainError unless what a store keeps as the keys of an event are its keys. */
export function checkKeys(logged: LoggedEvent, kept: { readonly [Name in keyof EventKeys]: unknown }): void {
  const keys = keysOf(logged);
  for (const name of Object.keys(keys) as (keyof EventKeys)[])
    if (kept[name] !== keys[name])
      throw new BrokenChainError(
        logged.position,
        `the ${name} in the index of the store differs from that of the event`,
      );
}
