import type { FastifyRequest, HookHandlerDoneFunction, onRequestHookHandler } from 'fastify';
import type { Principal } from '../../auth/principal.ts';
import { entrantOf } from './entrant.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller. Null where no token is required. */
    principal: Principal | null;
  }
}

/** Authenticates the caller by a request's Authorization headers. Throws or rejects with the error to answer. */
export type Authenticate = (authorization: string | readonly string[] | undefined) => Principal | Promise<Principal>;

/**
 * Makes the hook that admits callers known to `authenticate` and sets `request.principal`. It runs before a body is
 * read.
 */
export const authentication =
  (authenticate: Authenticate): onRequestHookHandler =>
  (request, _reply, next: HookHandlerDoneFunction) =>
    identify(request, authenticate, next);

/** Authenticates the caller, sets `request.principal`, and continues in one of this owner's places. */
export function identify(
  request: Pick<FastifyRequest, 'raw' | 'principal'>,
  authenticate: Authenticate,
  next: (error?: Error) => void,
): void {
  const entrant = entrantOf(request.raw);
  const admit = (principal: Principal) => {
    request.principal = principal;
    if (entrant === undefined) next();
    else entrant.belongTo(principal.owner, next);
  };
  const principal = authenticate(authorizationOf(request.raw.rawHeaders));
  if (!(principal instanceof Promise)) admit(principal);
  else if (entrant === undefined || entrant.verifying(next)) principal.then(admit, next);
  else principal.catch(() => {});
}

/**
 * Every Authorization header in a list of alternating names and values. Node's own `headers` keeps the first of
 * several.
 */
export function authorizationOf(rawHeaders: readonly string[]): string | readonly string[] | undefined {
  let found: string | string[] | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue;
    const value = rawHeaders[index + 1]!;
    found = found === undefined ? value : [found, value].flat();
  }
  return found;
}
