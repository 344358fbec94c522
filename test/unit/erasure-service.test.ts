import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { EraseOwnerRequestSchema } from '../../gen/plantstore/v1/erasure_service_pb.ts';
import { createScopePolicy } from '../../src/auth/principal.ts';
import { implementErasure } from '../../src/erasure/service.ts';
import { type EraseRequest, type EraserParts, eraseOwner } from '../../src/log/erasure/eraser.ts';
import { pause } from '../../src/time/pause.ts';
import { ALICE } from '../support/principal.ts';

test('a caller who leaves an erasure is no fault of the store', async () => {
  const log = {
    async *erase() {
      for (;;) {
        yield { step: 'event' as const, appended: { position: 1, key: new Uint8Array(16) } };
        await pause(1);
      }
    },
  };
  const [left, reason] = [new AbortController(), new Error('left')];
  const principal = { ...ALICE, scopes: new Set(['plants:erase']) };
  const request = create(EraseOwnerRequestSchema, { owner: 'alice' });
  const stream = implementErasure(log, createScopePolicy([])).eraseOwner(request, { principal, signal: left.signal });
  expect((await stream.next()).value?.step.case).toBe('progress');
  const ended = expect(stream.next()).rejects.toBe(reason);
  left.abort(reason);
  await ended;
});

test('an erasure is repeated by the key of its subject, which has 16 bytes', async () => {
  const keys: (Uint8Array | undefined)[] = [];
  const log = {
    async *erase({ key }: EraseRequest) {
      keys.push(key);
      yield { position: 1, events: 1, key };
    },
  };
  const principal = { ...ALICE, scopes: new Set(['plants:erase']) };
  const { eraseOwner } = implementErasure(log, createScopePolicy([]));
  const outcomeOf = async (subjectKey: Uint8Array) => {
    const request = create(EraseOwnerRequestSchema, { owner: 'alice', subjectKey });
    const { value } = await eraseOwner(request, { principal, signal: new AbortController().signal }).next();
    return value?.step;
  };
  const key = new Uint8Array(16).fill(7);
  expect(await outcomeOf(key)).toMatchObject({ case: 'outcome', value: { position: 1n, subjectKey: key } });
  expect(await outcomeOf(new Uint8Array())).toMatchObject({ case: 'outcome' });
  for (const length of [1, 15, 17])
    await expect(outcomeOf(new Uint8Array(length))).rejects.toMatchObject({ reason: 'INVALID_FIELD' });
  expect(keys).toEqual([key, undefined]);
});

test.each([
  [
    'a store that may not erase',
    async () => ({ service: [], erasure: ['update on events'] }),
    'MAY_NOT_ERASE',
    'may not update `events`',
  ],
  [
    'a store that is away',
    () => Promise.reject(new Error('ECONNREFUSED')),
    'STORE_UNAVAILABLE',
    'cannot be reached now; try again',
  ],
])('%s is told as that', async (_, missingRights, reason, message) => {
  const parts = { follower: { store: { missingRights } } } as unknown as EraserParts;
  const log = { erase: (request: EraseRequest) => eraseOwner(parts, request) };
  const principal = { ...ALICE, scopes: new Set(['plants:erase']) };
  const request = create(EraseOwnerRequestSchema, { owner: 'alice' });
  const call = { principal, signal: new AbortController().signal };
  const stream = implementErasure(log, createScopePolicy([])).eraseOwner(request, call);
  await expect(stream.next()).rejects.toMatchObject({ reason, message: expect.stringContaining(message) });
});
