import { setTimeout as sleep } from 'node:timers/promises';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { expect } from 'vitest';
import { AuditService } from '../../gen/plantstore/v1/audit_service_pb.ts';

/** Milliseconds between two attempts to follow. */
const PAUSE = 20;
/** Milliseconds between two attempts to add: hundreds of clients would else take the CPU that a service starts with. */
const RETRY = 250;

/**
 * Follows the log until it has seen a number of events. After every break, continues from the last position, on the
 * current service. Adds each position to `seen`.
 */
export async function followLog(
  transport: () => Transport,
  token: string,
  events: number,
  seen: number[],
): Promise<void> {
  while (seen.length < events)
    await follow(transport(), token, events, seen).catch((thrown) => {
      if (!(thrown instanceof ConnectError)) throw thrown;
      return sleep(PAUSE);
    });
}

async function follow(transport: Transport, token: string, events: number, seen: number[]): Promise<void> {
  const start = { case: 'afterPosition' as const, value: BigInt(seen.at(-1) ?? 0) };
  const enough = new AbortController();
  const options = { headers: { authorization: `Bearer ${token}` }, signal: enough.signal };
  for await (const message of createClient(AuditService, transport).readEvents({ start, follow: true }, options)) {
    seen.push(...message.records.map(({ event }) => Number(event!.position)));
    expect(Number(message.position)).toBe(seen.at(-1));
    if (seen.length >= events) enough.abort();
  }
}

/**
 * Adds plants with a number of concurrent clients. Retries a plant if no service responded; the log may then have it or
 * not.
 */
export async function addPlants(url: () => string, token: string, plants: number, clients: number): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const ids = Array.from({ length: plants }, (_, id) => id).values();
  const client = async () => {
    for (const id of ids) while (!(await isAdded(url(), headers, id))) await sleep(RETRY);
  };
  await Promise.all(Array.from({ length: clients }, client));
}

async function isAdded(url: string, headers: Record<string, string>, id: number): Promise<boolean> {
  const body = JSON.stringify({ id, name: `Plant ${id}` });
  const reply = await fetch(`${url}/plants`, { method: 'POST', headers, body })
    .then(async (response) => ({ status: response.status, ...((await response.json()) as { error?: number }) }))
    .catch(() => undefined);
  if (reply?.status === 200 || reply?.error === Code.AlreadyExists) return true;
  expect([undefined, 503]).toContain(reply?.status);
  return false;
}
