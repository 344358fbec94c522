import type { HookHandlerDoneFunction, onRequestHookHandler } from 'fastify';
import type { Principal } from '../../auth/principal.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; null where no token is asked for. */
    principal: Principal | null;
  }
}

/** The caller whom a request's Authorization headers name. Throws or rejects with what to answer. */
export type Authenticate = (authorization: string | readonly string[] | undefined) => Principal | Promise<Principal>;

/** Makes the hook that lets in whom `authenticate` knows, as `request.principal`. It runs before a body is read. */
export const authentication =
  (authenticate: Authenticate): onRequestHookHandler =>
  (request, _reply, next: HookHandlerDoneFunction) => {
    const admit = (principal: Principal) => {
      request.principal = principal;
      next();
    };
    const principal = authenticate(authorizationOf(request.raw.rawHeaders));
    if (principal instanceof Promise) principal.then(admit, next);
    else admit(principal);
  };

/** Every Authorization header among names and values in turn. Node's own `headers` keeps the first of several. */
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
