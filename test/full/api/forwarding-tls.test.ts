import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refusalAsClient } from '../../../src/transport/grpc/certificates.ts';
import { HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { CertificateAuthority } from '../../support/certificates.ts';
import { command } from '../../support/command.ts';
import { bearer, grpcClient, unary } from '../../support/grpc.ts';
import { client } from '../../support/http.ts';
import { Instances } from '../../support/instances.ts';
import { type Service, startService } from '../../support/service.ts';
import type { TcpProxy } from '../../support/tcp-proxy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const directory = temporaryDirectory(afterAll);
let ca: CertificateAuthority;
beforeAll(() => {
  ca = new CertificateAuthority(directory, 'ca');
});

/** What passes through a proxy from now on, in both directions. */
function sniff(proxy: TcpProxy): () => string {
  const chunks: Buffer[] = [];
  proxy.fate = (chunk) => {
    chunks.push(chunk);
    return 'forward';
  };
  proxy.onReply = (chunk) => chunks.push(chunk);
  return () => Buffer.concat(chunks).toString('latin1');
}

/** Adds plants at an instance until one of them was forwarded: a link may end at any time. */
async function untilForwarded(at: Service, add: (id: number) => Promise<unknown>): Promise<void> {
  const forwarded = () => at.metric('plantstore_commands_forwarded_total', { outcome: 'applied' });
  const before = await forwarded();
  for (let id = 1; (await forwarded()) === before; id++) await add(id);
}

/** Writes into the database that the writer is at an address. */
async function claimWriter(uri: string, contact: { address: string; certificate?: string }): Promise<void> {
  const mongo = await new MongoClient(uri).connect();
  const lease = {
    holder: 'x',
    until: new Date(Date.now() + 60_000),
    contact: { secret: 'the-secret-of-the-lease', ...contact },
  };
  // In the place of the lease of an instance that runs.
  const leases = mongo.db().collection<{ _id: string }>('leases');
  await leases.replaceOne({ _id: 'writer' }, lease, { upsert: true });
  await mongo.close();
}

describe.runIf(HAS_MONGODB)('instances without any setting of TLS', () => {
  test('forward over TLS: whoever listens between them reads no command, while callers come in plaintext', async () => {
    const MONGODB_URI = newDatabase();
    await using instances = await Instances.start(2, { MONGODB_URI });
    const heard = instances.proxies.map(sniff);
    const writer = await instances.settled('alice-the-owner');
    const other = instances.services[1 - writer]!;
    const token = await instances.token('alice-the-owner');
    const plaintext = grpcClient(other.grpcUrl);
    await untilForwarded(other, (id) =>
      unary(plaintext, 'createPlant', { plant: { id: BigInt(id), name: 'the-name-of-the-plant' } }, bearer(token)),
    );
    plaintext.close();
    // Their addresses are no names, and Node would warn of a server that is called by one.
    expect(other.output).not.toContain('DEP0123');
    const mongo = await new MongoClient(MONGODB_URI).connect();
    const lease = await mongo.db().collection<{ _id: string }>('leases').findOne({ _id: 'writer' });
    await mongo.close();
    const text = heard[writer]!();
    expect(text).not.toBe('');
    const { secret } = (lease as unknown as { contact: { secret: string } }).contact;
    for (const plain of ['PRI * HTTP/2', 'plantstore', 'the-name-of-the-plant', 'alice-the-owner', secret])
      expect(text).not.toContain(plain);
  });

  test('send nothing to a port with another certificate, nor in plaintext to a writer whose lease has none', async () => {
    await using impostors = await Instances.start(1, { MONGODB_URI: newDatabase() });
    const heard = sniff(impostors.proxies[0]!);
    const address = `127.0.0.1:${impostors.proxies[0]!.port}`;
    const others = ca.issue('others');
    for (const contact of [{ address, certificate: readFileSync(others.certificate, 'utf8') }, { address }]) {
      const MONGODB_URI = newDatabase();
      await using service = await startService({ MONGODB_URI });
      await claimWriter(MONGODB_URI, contact);
      const send = client(service.url, await service.token('alice'));
      expect((await send('POST', '/plants', { body: '{"id":1,"name":"Fern"}' })).status).toBe(200);
      const line = await service.logged(({ msg }) => /cannot be reached/.test(String(msg)));
      // Not that the other side refused the secret: it has not seen it.
      expect(JSON.stringify(line)).toMatch(/certificate/i);
    }
    expect(heard()).not.toBe('');
    for (const plain of ['PRI * HTTP/2', 'the-secret-of-the-lease']) expect(heard()).not.toContain(plain);
  });

  test('end a connection to the gRPC port that sends nothing', async () => {
    await using service = await startService({
      MONGODB_URI: newDatabase(),
      REQUEST_TIMEOUT: '1',
      IDLE_TIMEOUT: '3600',
    });
    const [host, port] = service.grpcUrl.split(':');
    await once(connect(Number(port), host), 'close');
  });
});

describe.runIf(HAS_MONGODB)('instances whose gRPC port has TLS', () => {
  test('forward to a writer whose certificate is for another name, and show their own where clients need one', async () => {
    const { certificate, key } = ca.issue('instance');
    const tls = { GRPC_TLS_CERT: certificate, GRPC_TLS_KEY: key, GRPC_TLS_CLIENT_CA: ca.certificate };
    await using instances = await Instances.start(2, { MONGODB_URI: newDatabase(), ...tls });
    const writer = await instances.settled('alice');
    const other = instances.services[1 - writer]!;
    const send = client(other.url, await instances.token('alice'));
    await untilForwarded(other, async (id) =>
      expect((await send('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` })).status).toBe(200),
    );
  });

  test('say at start, as doctor does, that others refuse their certificate as a client', async () => {
    const { certificate, key } = ca.issue('server-only', 'serverAuth');
    const tls = { GRPC_TLS_CERT: certificate, GRPC_TLS_KEY: key, GRPC_TLS_CLIENT_CA: ca.certificate };
    const settings = { MONGODB_URI: newDatabase(), ...tls };
    await using service = await startService(settings);
    const refusal = `GRPC_TLS_CERT (${certificate}) as a client's certificate, so each instance writes by itself: its extended key usage lacks clientAuth`;
    await service.logged(({ msg }) => String(msg).includes(refusal));
    const { stdout } = await command(['doctor'], { ...settings, DATA_DIR: directory });
    expect(stdout).toContain(`warn  gRPC TLS    other instances refuse ${refusal}\n`);
    // When it matters, the line about the writer names it too: the files may be others than at the start.
    await claimWriter(settings.MONGODB_URI, { address: '127.0.0.1:9', certificate: readFileSync(certificate, 'utf8') });
    const send = client(service.url, await service.token('alice'));
    expect((await send('POST', '/plants', { body: '{"id":1,"name":"Fern"}' })).status).toBe(200);
    await service.logged(({ msg }) =>
      /cannot be reached: .* whether GRPC_TLS_CERT may be a client's/.test(String(msg)),
    );
  });

  test('send nothing to a port that does not show the certificate of the lease, be it signed by the same authority', async () => {
    const [own, foreign] = [ca.issue('own'), ca.issue('foreign')];
    const MONGODB_URI = newDatabase();
    await using instances = await Instances.start(1, {
      MONGODB_URI,
      GRPC_TLS_CERT: own.certificate,
      GRPC_TLS_KEY: own.key,
    });
    await using impostors = await Instances.start(1, {
      MONGODB_URI: newDatabase(),
      GRPC_TLS_CERT: foreign.certificate,
      GRPC_TLS_KEY: foreign.key,
    });
    const [service, impostor] = [instances.services[0]!, impostors.services[0]!];
    // The lease says that the writer is at the impostor's address, with a certificate of the same authority.
    await claimWriter(MONGODB_URI, {
      address: impostor.grpcUrl,
      certificate: readFileSync(own.certificate, 'utf8'),
    });
    const send = client(service.url, await instances.token('alice'));
    expect((await send('POST', '/plants', { body: '{"id":1,"name":"Fern"}' })).status).toBe(200);
    const line = await service.logged(({ msg }) => /cannot be reached/.test(String(msg)));
    expect(line.msg).toContain('ADVERTISE_ADDRESS');
    expect(JSON.stringify(line)).toMatch(/certificate|issuer/i);
  });
});

test('a certificate is refused as a client by its purpose and its authority, and only where clients need one', async () => {
  const refusal = ({ certificate, key }: { certificate: string; key: string }, clientCa = ca.certificate) =>
    refusalAsClient({ certificate, key, clientCa });
  expect(await refusal(ca.issue('both', 'serverAuth,clientAuth'))).toBeUndefined();
  expect(await refusal(ca.issue('unlimited'))).toBeUndefined();
  const serverOnly = ca.issue('server', 'serverAuth');
  expect(await refusal(serverOnly)).toContain('lacks clientAuth');
  expect(await refusalAsClient(serverOnly)).toBeUndefined();
  const { certificate } = new CertificateAuthority(directory, 'another');
  expect(await refusal(ca.issue('foreign'), certificate)).toContain('GRPC_TLS_CLIENT_CA does not vouch for it');
});
