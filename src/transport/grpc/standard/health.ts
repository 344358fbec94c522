import { type ServerUnaryCall, type ServerWritableStream, type sendUnaryData, status } from '@grpc/grpc-js';
import { service as definition } from 'grpc-health-check';
import type { Registry } from '../definition.ts';

type Request = { readonly service: string };
type Check = ServerUnaryCall<Request, object>;
type Watch = ServerWritableStream<Request, object>;

/** Milliseconds until a watcher gets a change. Far less than the grace period of a stop. */
const WATCH_INTERVAL = 100;

/**
 * Adds grpc.health.v1.Health for each service and, under the empty name, for all of them, which serve as long as
 * `isReady` (Health.ready in observe/health.ts) returns true. Needs no token. The returned function reports NOT_SERVING
 * and ends every watch, so that no watch keeps the server from stopping.
 */
export function addHealth(server: Registry, services: readonly string[], isReady: () => boolean): () => void {
  const names = ['', ...services];
  const knows = ({ service }: Request): boolean => names.includes(service);
  let isClosed = false;
  const statusNow = () => (!isClosed && isReady() ? 'SERVING' : 'NOT_SERVING');
  let last = statusNow();
  const watches = new Set<Watch>();
  const tell = () => {
    if (last === statusNow()) return;
    last = statusNow();
    for (const call of watches) if (knows(call.request)) call.write({ status: last });
  };
  const timer = setInterval(tell, WATCH_INTERVAL).unref();
  server.addService(definition, {
    check: ({ request }: Check, answer: sendUnaryData<object>) => {
      if (knows(request)) answer(null, { status: statusNow() });
      else answer({ code: status.NOT_FOUND, details: 'there is no service of this name' });
    },
    list: (_call: unknown, answer: sendUnaryData<object>) => {
      const each = { status: statusNow() };
      answer(null, { statuses: Object.fromEntries(names.map((name) => [name, each])) });
    },
    watch: (call: Watch) => {
      watches.add(call);
      call.once('close', () => watches.delete(call));
      call.write({ status: knows(call.request) ? last : 'SERVICE_UNKNOWN' });
    },
  });
  return () => {
    clearInterval(timer);
    isClosed = true;
    tell();
    for (const call of watches) call.end();
  };
}
