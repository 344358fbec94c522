import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { AuditService } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import { ReplicaSet } from '../../../test/support/replica-set.ts';
import { LoadGenerator } from '../load/generator.ts';
import { ADD, FIRST_ID } from '../plants.ts';
import { developmentToken, plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';

const EVENTS = 10_000;
const CONNECTIONS = 200;

/** How far a follower of the log is behind, on another instance than the one that many clients add to. */
export async function follow(bench: Bench): Promise<Results> {
  const set = await ReplicaSet.start(1);
  bench.defer(() => set.remove());
  const directory = bench.directory();
  const env = { MONGODB_URI: set.uri('follow') };
  const adding = await bench.server(plantstore(directory, env));
  const followed = await bench.server(plantstore(directory, env));
  const load = new LoadGenerator();
  bench.defer(() => load.stop());

  const behind = lags(followed.grpcAddress, developmentToken(directory, 'auditor', 'plants:audit'));
  // The stream stands before the first event is there.
  await sleep(500);
  await load.run({
    protocol: 'http',
    urls: [adding.url],
    tokens: [developmentToken(directory, 'adder')],
    requests: [ADD],
    connections: CONNECTIONS,
    seconds: Number.POSITIVE_INFINITY,
    ids: { from: FIRST_ID, to: FIRST_ID + EVENTS },
  });
  const sorted = (await behind).toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)];
  console.log(
    `\n${EVENTS} adds by ${CONNECTIONS} clients on one instance, followed over gRPC on another: behind the decision by` +
      `\n  p50 ${at(0.5)} ms  p99 ${at(0.99)} ms  most ${at(1)} ms`,
  );
  return {};
}

/**
 * Milliseconds from the decision of each event to its arrival here, in order. Rejects when a position is skipped or
 * repeated.
 */
async function lags(address: string, token: string): Promise<number[]> {
  const transport = createGrpcTransport({ baseUrl: `http://${address}` });
  const stop = new AbortController();
  const options = { headers: { authorization: `Bearer ${token}` }, signal: stop.signal };
  const found: number[] = [];
  for await (const { records } of createClient(AuditService, transport).readEvents({ follow: true }, options)) {
    for (const { position, time } of records.map(({ event }) => event!)) {
      if (Number(position) !== found.length + 1) throw new Error(`position ${position} after ${found.length}`);
      found.push(Date.now() - Number(time!.seconds) * 1_000 - time!.nanos / 1e6);
    }
    if (found.length === EVENTS) break;
  }
  stop.abort();
  return found;
}
