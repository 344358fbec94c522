import type { FastifyRequest } from 'fastify';
import { entrantOf } from './entrant.ts';

/** All strangers together are one owner to the admission, so that the others' places are not theirs. No owner has an empty name. */
export function asStranger({ raw }: FastifyRequest, next: () => void): void {
  const entrant = entrantOf(raw);
  if (entrant === undefined) next();
  else entrant.belongTo('', next);
}
