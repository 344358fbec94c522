import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { EraseOwnerRequestSchema } from '../../gen/plantstore/v1/erasure_service_pb.ts';
import { createScopePolicy } from '../../src/auth/principal.ts';
import { implementErasure } from '../../src/erasure/service.ts';
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
