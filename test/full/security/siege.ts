import type { ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { frame, rawSession, rawStream } from '../../support/raw-grpc.ts';

/** The service that is attacked, and a valid token of an owner who is not the one to be served. */
export interface Target {
  readonly url: string;
  readonly grpcUrl: string;
  readonly token: string;
}

/** What a client keeps open, or sends again and again, to take places from others. */
export interface Weapon {
  readonly name: string;
  /**
   * Begins so many requests that never come to their end. They last until they are disposed of, as far as the service
   * lets them.
   */
  lay(target: Target, requests: number): Disposable;
}

/** Streams on each connection of gRPC: what the service allows. */
const STREAMS = 128;
const PLANTS = '/plantstore.v1.PlantStoreService';
const HEALTH = '/grpc.health.v1.Health';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
/** Of a body that is announced to be longer. */
const HALF = Buffer.alloc(30_000, ' ');

/** Every way known to hold a place without being served. */
export const WEAPONS: readonly Weapon[] = [
  grpc('gRPC: headers alone, without a token', `${PLANTS}/ListPlants`, false),
  grpc("gRPC: headers alone, with another owner's token", `${PLANTS}/ListPlants`, true),
  grpc('gRPC: headers of a stream alone, without a token', `${PLANTS}/StreamPlants`, false),
  grpc('gRPC: half a message, without a token', `${PLANTS}/CreatePlant`, false, half(60_000)),
  grpc("gRPC: half a message, with another owner's token", `${PLANTS}/CreatePlant`, true, half(60_000)),
  grpc("gRPC: a message and no end, with another owner's token", `${PLANTS}/ListPlants`, true, frame(Buffer.alloc(0))),
  grpc('Health/Check: headers alone', `${HEALTH}/Check`, false),
  grpc('Health/Check: half a message of 4 KiB', `${HEALTH}/Check`, false, half(4_096, 4_000)),
  grpc('Health/Check: a message of 1 MB', `${HEALTH}/Check`, false, half(1_000_000)),
  grpc('Health/Watch: headers alone', `${HEALTH}/Watch`, false),
  grpc('reflection: headers alone', REFLECTION, false),
  http('REST: 404 and an announced body', 'POST /nope', 'application/json', false),
  http('REST: 405 and an announced body', 'PUT /plants', 'application/json', false),
  http('REST: 401 and an announced body', 'POST /plants', 'application/json', false),
  http("REST: half a body, with another owner's token", 'POST /plants', 'application/json', true),
  http("REST: 413 and half a body, with another owner's token", 'POST /plants', 'application/json', true, 1_000_000),
  http('Connect: an announced body, without a token', `POST ${PLANTS}/CreatePlant`, 'application/json', false),
  http("Connect: half a body, with another owner's token", `POST ${PLANTS}/CreatePlant`, 'application/json', true),
  http("Connect: half a binary body, with another owner's", `POST ${PLANTS}/ListPlants`, 'application/proto', true),
  http(
    'Connect: an announced stream, without a token',
    `POST ${PLANTS}/StreamPlants`,
    'application/connect+json',
    false,
  ),
  http("Connect: half a stream, with another owner's", `POST ${PLANTS}/StreamPlants`, 'application/connect+json', true),
  http(
    'gRPC-Web: an announced body, without a token',
    `POST ${PLANTS}/ListPlants`,
    'application/grpc-web+proto',
    false,
  ),
  http("gRPC-Web: half a body, with another owner's", `POST ${PLANTS}/ListPlants`, 'application/grpc-web+proto', true),
];

/** The beginning of a message that says it has so many bytes. */
function half(length: number, sent = length / 2): Buffer {
  return frame(Buffer.alloc(Math.min(sent, HALF.length)), { length });
}

function grpc(name: string, path: string, withToken: boolean, bytes?: Buffer): Weapon {
  return {
    name,
    lay({ grpcUrl, token }, requests) {
      const sessions: ClientHttp2Session[] = [];
      for (let begun = 0; begun < requests; begun++) {
        if (begun % STREAMS === 0) sessions.push(rawSession(grpcUrl));
        const headers = { ':path': path, ...(withToken && { authorization: `Bearer ${token}` }) };
        const stream = rawStream(sessions.at(-1)!, headers).resume();
        if (bytes !== undefined) stream.write(bytes, () => {});
      }
      return { [Symbol.dispose]: () => sessions.forEach((session) => void session.destroy()) };
    },
  };
}

function http(name: string, line: string, type: string, withToken: boolean, length = 60_000): Weapon {
  return {
    name,
    lay({ url, token }, requests) {
      const { hostname, port } = new URL(url);
      const head = [
        `${line} HTTP/1.1`,
        'Host: plants',
        `Content-Type: ${type}`,
        `Content-Length: ${length}`,
        ...(withToken ? [`Authorization: Bearer ${token}`] : []),
      ].join('\r\n');
      const sockets: Socket[] = [];
      for (let begun = 0; begun < requests; begun++) {
        const socket = connect(Number(port), hostname).on('error', () => {});
        socket.resume().write(`${head}\r\n\r\n`);
        // Of a stream, and of gRPC-Web, a body is messages with their lengths.
        if (withToken) socket.write(type.includes('+') ? half(length - 5) : HALF);
        sockets.push(socket);
      }
      return { [Symbol.dispose]: () => sockets.forEach((socket) => void socket.destroy()) };
    },
  };
}
