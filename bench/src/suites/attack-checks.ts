import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDevelopmentIssuer } from '../../../src/auth/development.ts';
import { frame, rawCall, rawSession } from '../../../test/support/raw-grpc.ts';
import { Crowd } from '../load/crowd.ts';
import { type Checkout, plantstore } from '../plantstore.ts';
import type { Checked } from '../report/attacks.ts';
import type { Bench } from '../resources.ts';

/** What a caller must get, whatever else the service bounds: by name. */
export const CHECKS: Readonly<Record<string, (bench: Bench, checkout: Checkout) => Promise<Checked>>> = {
  'health-watches': healthWatches,
  'idle-reflection': idleReflection,
  cors: overloadWithCors,
};

const WATCHES = 200;
/** Seconds of a stream that says nothing, and of patience with it. */
const [IDLE, PATIENCE] = [1, 6];
const ORIGIN = 'https://app.example';
/** Clients that overload a service with few places, and for how many seconds. */
const OVERLOAD = { connections: 500, owners: 50, seconds: 3 };
const OVERLOADED = { CORS_ORIGINS: ORIGIN, MAX_WAIT: '1', MAX_IN_FLIGHT: '4' };
const EMPTY = frame(Buffer.alloc(0));

/** Client-side health checking opens a watch for each connection; a refusal makes its client give up. */
async function healthWatches(bench: Bench, checkout: Checkout): Promise<Checked> {
  const { grpcAddress } = await bench.server(plantstore(bench.directory(), {}, checkout));
  const first = async () => {
    const stream = openStream(session(bench, grpcAddress), '/grpc.health.v1.Health/Watch', EMPTY);
    return Promise.race([once(stream, 'data').then(() => true), once(stream, 'close').then(() => false)]);
  };
  const heard = await Promise.all(Array.from({ length: WATCHES }, first));
  const count = heard.filter(Boolean).length;
  return {
    isWell: count === WATCHES,
    found: `${count} of ${WATCHES} watches, each on its connection, heard the state`,
  };
}

/** A stream that is idle for too long must not end the calls beside it. */
async function idleReflection(bench: Bench, checkout: Checkout): Promise<Checked> {
  const environment = { IDLE_TIMEOUT: `${IDLE}` };
  const { grpcAddress } = await bench.server(plantstore(bench.directory(), environment, checkout));
  const shared = session(bench, grpcAddress);
  const idle = openStream(shared, '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo');
  const over = Promise.race([once(idle, 'end'), once(idle, 'close')]).then(() => true);
  const ended = await Promise.race([over, sleep(PATIENCE * 1_000, false)]);
  if (shared.destroyed || shared.closed) return { isWell: false, found: 'the connection ended with its idle stream' };
  const { status } = await rawCall(shared, { ':path': '/grpc.health.v1.Health/Check' }, EMPTY);
  return {
    isWell: ended && status === 0,
    found: `the idle stream ${ended ? 'ended' : 'stayed'}; a call beside it got the status ${status}`,
  };
}

/** A page of another origin must see that the service is overloaded, rather than a network error. */
async function overloadWithCors(bench: Bench, checkout: Checkout): Promise<Checked> {
  const directory = bench.directory();
  const { url } = await bench.server(plantstore(directory, OVERLOADED, checkout));
  const { mintToken } = await openDevelopmentIssuer(directory);
  const mint = (_: unknown, owner: number) => mintToken({ owner: `page ${owner}`, ownerClaim: 'sub', ttl: 36_000 });
  const requests = (await Promise.all(Array.from({ length: OVERLOAD.owners }, mint))).map(addOf);
  let [refused, readable] = [0, 0];
  let made = 0;
  const talk = (socket: Socket) => {
    const request = requests[made++ % requests.length]!;
    socket.on('data', (chunk) => {
      const answer = chunk.toString('latin1');
      if (answer.startsWith('HTTP/1.1 503')) {
        refused++;
        if (answer.toLowerCase().includes(`access-control-allow-origin: ${ORIGIN}`)) readable++;
      }
      socket.write(request);
    });
    socket.write(request);
  };
  const crowd = new Crowd({ port: Number(new URL(url).port), connections: OVERLOAD.connections, talk });
  await sleep(OVERLOAD.seconds * 1_000);
  crowd.end();
  return {
    isWell: refused > 0 && readable === refused,
    found: `${readable} of ${refused} answers 503 may be read by a page of another origin`,
  };
}

/** An add of a page. */
function addOf(token: string): string {
  const body = '{"id":1,"name":"Fern"}';
  return [
    'POST /plants HTTP/1.1',
    'host: localhost',
    `origin: ${ORIGIN}`,
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
}

function session(bench: Bench, address: string): ClientHttp2Session {
  const opened = rawSession(address);
  bench.defer(() => opened.destroy());
  return opened;
}

/** A call that sends a message, if it has one, and no end. */
function openStream(on: ClientHttp2Session, path: string, message?: Buffer): ClientHttp2Stream {
  const stream = on.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => {}).resume();
  if (message !== undefined) stream.end(message);
  return stream;
}
