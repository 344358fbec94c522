import type { FastifyRequest } from 'fastify';
import { entrantOf } from './entrant.ts';

/**
 * Admission counts all unauthenticated callers as one owner, so that they cannot take other owners' places. No owner
 * has an empty name.
 */
export function asStranger({ raw }: FastifyRequest, next: () => void): void {
  const entrant = entrantOf(raw);
  if (entrant === undefined) next();
  else entrant.belongTo('', next);
}
