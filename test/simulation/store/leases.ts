import { LONGEST_LEASE } from '../../../src/log/store.ts';
import type { Write } from './database.ts';
import type { State, StoredLease } from './state.ts';

/** Whether a lease is over at a time. */
export const isOver = ({ until }: StoredLease, now: number): boolean => until <= now || until > now + LONGEST_LEASE;

/** Takes or renews a lease, unless another holder has it. */
export function takeLease(
  { leases }: State,
  name: string,
  lease: StoredLease,
  now: number,
): ReturnType<Write<boolean>> {
  const held = leases.get(name);
  if (held !== undefined && held.holder !== lease.holder && !isOver(held, now)) return { changes: {}, result: false };
  return { changes: { leases: new Map(leases).set(name, lease) }, result: true };
}

/** Gives a lease back, if the holder has it. */
export function freeLease({ leases }: State, name: string, holder: string): ReturnType<Write<boolean>> {
  if (leases.get(name)?.holder !== holder) return { changes: {}, result: false };
  return { changes: { leases: new Map(leases).set(name, { holder, until: 0 }) }, result: true };
}
