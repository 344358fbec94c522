import { connect as connectHttp2 } from 'node:http2';
import { createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EventStreamParser } from '../../../client/event-stream.ts';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { freePort } from '../../support/free-port.ts';
import { client } from '../../support/http.ts';
import { findProgram, ReverseProxy } from '../../support/proxies.ts';
import { type Service, startService } from '../../support/service.ts';

const nginx = findProgram('nginx');
const haproxy = findProgram('haproxy');

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.stop();
});

let owners = 0;
/**
 * What an owner's stream tells through a proxy: one plant, ready, and then a plant that is added once that has come.
 */
async function throughProxy(open: (token: string) => AsyncIterable<string>): Promise<string[]> {
  const token = await service.token(`owner ${owners++}`);
  const send = client(service.url, token);
  const add = async (id: number) => {
    const { status } = await send('POST', '/plants', { body: JSON.stringify({ id, name: 'Fern' }) });
    expect(status).toBe(200);
  };
  await add(1);
  const steps: string[] = [];
  for await (const step of open(token)) {
    steps.push(step);
    if (step === 'ready') await add(2);
    if (steps.length === 3) break;
  }
  return steps;
}

const STORY = ['added', 'ready', 'added'];

/** The event stream over HTTP/1.1. */
const events = ({ url }: ReverseProxy) =>
  async function* (token: string) {
    const abort = new AbortController();
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${token}` };
    const { body } = await fetch(`${url}/plants`, { headers, signal: abort.signal });
    const parser = new EventStreamParser('');
    try {
      const texts = body!.pipeThrough(new TextDecoderStream());
      for await (const piece of texts) for (const { type } of parser.read(piece)) yield type;
    } finally {
      abort.abort();
    }
  };

/** The event stream over HTTP/2. */
const eventsOverHttp2 = ({ url }: ReverseProxy) =>
  async function* (token: string) {
    const session = connectHttp2(url);
    const parser = new EventStreamParser('');
    try {
      const request = session.request({
        ':path': '/plants',
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
      });
      for await (const piece of request.setEncoding('utf8')) for (const { type } of parser.read(piece)) yield type;
    } finally {
      session.destroy();
    }
  };

/** WatchPlants. */
const watch = (transport: Transport) =>
  async function* (token: string) {
    const options = { headers: { authorization: `Bearer ${token}` } };
    for await (const { step } of createClient(PlantStoreService, transport).watchPlants({}, options)) yield step.case!;
  };
const connectOf = ({ url }: ReverseProxy) => watch(createConnectTransport({ baseUrl: url, httpVersion: '1.1' }));
const grpcWebOf = ({ url }: ReverseProxy) => watch(createGrpcWebTransport({ baseUrl: url, httpVersion: '1.1' }));
const grpcOf = ({ url }: ReverseProxy) => watch(createGrpcTransport({ baseUrl: url }));

const CLIENTS = [
  { what: 'the event stream', open: events },
  { what: 'Connect', open: connectOf },
  { what: 'gRPC-Web', open: grpcWebOf },
];

const hostOf = ({ url }: Service) => url.replace('http://', '');

describe.runIf(nginx !== undefined)('nginx', () => {
  const start = (listen: string, location: (service: Service) => string) =>
    ReverseProxy.nginx(nginx!, listen, `location / { ${location(service)} }`);
  const pass = ({ url }: Service) => `proxy_pass ${url};`;

  test.each(CLIENTS)('as it is hands on $what', async ({ open }) => {
    await using proxy = await start('', pass);
    expect(await throughProxy(open(proxy))).toEqual(STORY);
  });

  test('hands on the event stream over HTTP/2', async () => {
    await using proxy = await start('http2', pass);
    expect(await throughProxy(eventsOverHttp2(proxy))).toEqual(STORY);
  });

  test('hands on WatchPlants over gRPC', async () => {
    await using proxy = await start('http2', ({ grpcUrl }) => `grpc_pass grpc://${grpcUrl};`);
    expect(await throughProxy(grpcOf(proxy))).toEqual(STORY);
  });
});

describe.runIf(haproxy !== undefined)('HAProxy', () => {
  const start = async (bind: string, server: string) => {
    const port = await freePort();
    const timeouts = 'timeout connect 5s\n timeout client 60s\n timeout server 60s\n';
    const listen = `listen all\n bind 127.0.0.1:${port} ${bind}\n server one ${server}\n`;
    return ReverseProxy.haproxy(haproxy!, port, `defaults\n mode http\n ${timeouts}${listen}`);
  };

  test.each(CLIENTS)('hands on $what', async ({ open }) => {
    await using proxy = await start('', hostOf(service));
    expect(await throughProxy(open(proxy))).toEqual(STORY);
  });

  test('hands on the event stream over HTTP/2', async () => {
    await using proxy = await start('proto h2', hostOf(service));
    expect(await throughProxy(eventsOverHttp2(proxy))).toEqual(STORY);
  });

  test('hands on WatchPlants over gRPC', async () => {
    await using proxy = await start('proto h2', `${service.grpcUrl} proto h2`);
    expect(await throughProxy(grpcOf(proxy))).toEqual(STORY);
  });
});
