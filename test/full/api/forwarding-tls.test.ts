import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { CertificateAuthority } from '../../support/certificates.ts';
import { client } from '../../support/http.ts';
import { Instances, metricOf } from '../../support/instances.ts';

const directory = mkdtempSync(join(tmpdir(), 'plantstore-forwarding-tls-'));
let ca: CertificateAuthority;
beforeAll(() => {
  ca = new CertificateAuthority(directory, 'ca');
});
afterAll(() => rmSync(directory, { recursive: true }));

describe.runIf(HAS_MONGODB)('instances whose gRPC port has TLS', () => {
  test('forward to a writer whose certificate is for another name, and show their own where clients need one', async () => {
    const { certificate, key } = ca.issue('instance');
    const tls = { GRPC_TLS_CERT: certificate, GRPC_TLS_KEY: key, GRPC_TLS_CLIENT_CA: ca.certificate };
    await using instances = await Instances.start(2, { MONGODB_URI: newDatabase(), ...tls });
    const writer = await instances.settled('alice');
    const other = instances.services[1 - writer]!;
    const before = await metricOf(other, 'plantstore_commands_forwarded_total', { outcome: 'applied' });
    const send = client(other.url, await instances.token('alice'));
    expect((await send('POST', '/plants', { body: '{"id":1,"name":"Fern"}' })).status).toBe(200);
    expect(await metricOf(other, 'plantstore_commands_forwarded_total', { outcome: 'applied' })).toBe(before! + 1);
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
    const mongo = await new MongoClient(MONGODB_URI).connect();
    const contact = {
      address: impostor.grpcUrl,
      secret: 'secret',
      certificate: readFileSync(own.certificate, 'utf8'),
    };
    const until = new Date(Date.now() + 60_000);
    await mongo
      .db()
      .collection<{ _id: string }>('leases')
      .insertOne({ _id: 'writer', ...{ holder: 'x', until, contact } });
    await mongo.close();
    const send = client(service.url, await instances.token('alice'));
    expect((await send('POST', '/plants', { body: '{"id":1,"name":"Fern"}' })).status).toBe(200);
    const line = await service.logged(({ msg }) => /cannot be reached/.test(String(msg)));
    expect(line.msg).toContain('ADVERTISE_ADDRESS');
    expect(JSON.stringify(line)).toMatch(/certificate|issuer/i);
  });
});
