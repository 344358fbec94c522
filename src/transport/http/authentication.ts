import type { FastifyReply, FastifyRequest, onRequestHookHandler, onSendHookHandler } from 'fastify';
import type { Authenticate } from '../../auth/authenticator.ts';
import type { Principal } from '../../auth/principal.ts';
import { NOBODY } from '../../semaphore.ts';
import { connectionOf } from './connection.ts';
import { protocolOf } from './observe.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller. Null where no token is required. */
    principal: Principal | null;
  }
}

/** Called once: without an error when the request continues, or with the error to answer. */
export type Next = (error?: Error) => void;

/** The hook that lets in whom `authenticate` knows, and sets `request.principal`, before a body is read. */
export const authentication =
  (authenticate: Authenticate): onRequestHookHandler =>
  (request, _reply, next) =>
    identify(request, authenticate, next);

/** Authenticates the caller, and sets `request.principal`. Refuses a request that has waited too long for its turn. */
export function identify(request: FastifyRequest, authenticate: Authenticate, next: Next): void {
  const connection = connectionOf(request.raw.socket);
  const late = connection.late(protocolOf(request));
  if (late !== undefined) throw late;
  const admit = (principal: Principal) => {
    request.principal = principal;
    connection.verified(principal.owner);
  };
  const principal = authenticate(request.headers.authorization, connection);
  if (principal instanceof Promise) {
    principal.then(admit).then(() => next(), next);
    return;
  }
  admit(principal);
  next();
}

function admitAnybody(request: FastifyRequest, reply: FastifyReply, next: Next): void {
  const late = connectionOf(request.raw.socket).late(protocolOf(request));
  if (late !== undefined) throw late;
  takePermit(request, reply, next);
}

/** What an answer that is read from a file holds at once: the piece that is sent, and the next one. */
const FILE_BYTES = 2 * 64 * 1024;

/** Gives the permit back once there is an answer: whoever reads theirs slowly must hold up nobody. */
const sendWithoutPermit: onSendHookHandler = ({ raw }, _reply, answer, next) => {
  const isFile = typeof answer === 'object' && answer !== null && !Buffer.isBuffer(answer);
  connectionOf(raw.socket).sends(isFile ? FILE_BYTES : ((answer as string | Buffer | null | undefined)?.length ?? 0));
  next();
};

/** The hooks of a route that needs no token. */
export const WITHOUT_TOKEN = { onRequest: admitAnybody, onSend: sendWithoutPermit };

/** Takes a permit of the caller's share until the answer. The request must be whole: what is slow holds none. */
export function takePermit(request: FastifyRequest, { raw: response }: FastifyReply, next: Next): void {
  const { raw, principal } = request;
  const taken = connectionOf(raw.socket).permit(principal?.owner ?? NOBODY, response, protocolOf(request));
  if (taken === undefined) next();
  else taken.then(() => next(), next);
}
