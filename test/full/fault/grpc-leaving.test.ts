import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { CertificateAuthority } from '../../support/certificates.ts';
import { frame, rawCall, rawSession, rawStream } from '../../support/raw-grpc.ts';
import { startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const CHECK = '/grpc.health.v1.Health/Check';
const PATHS = [
  CHECK,
  '/grpc.health.v1.Health/Watch',
  '/plantstore.v1.PlantStoreService/ListPlants',
  '/plantstore.v1.PlantStoreService/WatchPlants',
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/no.Such/Method',
];

/** How a client leaves. */
const LEAVING: readonly ((socket: Socket) => void)[] = [
  (socket) => socket.destroy(),
  (socket) => socket.end(),
  (socket) => (socket instanceof TLSSocket ? socket.destroy() : socket.resetAndDestroy()),
  (socket) => setTimeout(() => socket.destroy(), 20) && socket.end(),
];

/** A call: its path, whether it has a token and a message, whether it ends its request, and when it is cancelled. */
const call = fc.record({
  path: fc.constantFrom(...PATHS),
  hasToken: fc.boolean(),
  hasMessage: fc.boolean(),
  ends: fc.boolean(),
  cancelledAfter: fc.option(fc.nat(10), { nil: undefined, freq: 4 }),
});

/** A client: its calls, the end of its session, how long it stays, and how it leaves. */
const client = fc.record({
  calls: fc.array(call, { maxLength: 60 }),
  ending: fc.constantFrom('close', 'goaway', 'destroy', undefined),
  stays: fc.nat(30),
  leaving: fc.nat(LEAVING.length - 1),
});

/** Clients at once. */
const AT_ONCE = 40;

test.each(['plaintext', 'TLS'])('clients that leave in the midst of anything end no process, over %s', async (over) => {
  const { certificate, key } = new CertificateAuthority(temporaryDirectory(onTestFinished), 'ca').issue('server');
  const isTls = over === 'TLS';
  await using service = await startService(isTls ? { GRPC_TLS_CERT: certificate, GRPC_TLS_KEY: key } : {});
  const authorization = `Bearer ${await service.token('alice')}`;
  const [host, port] = [service.grpcUrl.split(':')[0]!, Number(service.grpcUrl.split(':')[1])];
  const open = (): Socket =>
    (isTls ? connectTls({ host, port, ALPNProtocols: ['h2'], rejectUnauthorized: false }) : connect(port, host)).on(
      'error',
      () => {},
    );

  await fc.assert(
    fc.asyncProperty(fc.array(client, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (clients) => {
      await Promise.all(
        clients.map(async ({ calls, ending, stays, leaving }) => {
          const socket = open();
          const session = rawSession(service.grpcUrl, socket);
          for (const { path, hasToken, hasMessage, ends, cancelledAfter } of calls) {
            if (session.destroyed) break;
            const stream = rawStream(session, { ':path': path, ...(hasToken && { authorization }) }).resume();
            if (hasMessage) stream.write(frame(Buffer.alloc(0)));
            if (ends) stream.end();
            if (cancelledAfter !== undefined) setTimeout(() => stream.close(8), cancelledAfter);
          }
          await sleep(stays);
          if (ending !== undefined && !session.destroyed) session[ending]();
          LEAVING[leaving]!(socket);
          await sleep(30);
          socket.destroy();
          session.destroy();
        }),
      );
      expect(service.exitCode).toBeNull();
    }),
    { numRuns: 25, endOnFailure: true },
  );
  const session = rawSession(service.grpcUrl, open());
  const answer = await rawCall(session, { ':path': CHECK }, frame(Buffer.alloc(0)));
  session.destroy();
  expect(answer).toMatchObject({ status: 0 });
});
