import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findPython } from '../../support/python.ts';
import { run } from '../../support/run.ts';
import { startService } from '../../support/service.ts';

const python = await findPython(['grpcio==1.85.1', 'grpcio-status==1.85.1', 'grpcio-tools==1.85.1']);

test.skipIf(python === undefined)(
  'a client in Python with code that protoc makes of the protos',
  async () => {
    const code = mkdtempSync(join(tmpdir(), 'plantstore-python-'));
    try {
      const options = ['-Iproto', `--python_out=${code}`, `--grpc_python_out=${code}`];
      const protos = ['plant', 'plant_store_service'].map((name) => `proto/plantstore/v1/${name}.proto`);
      expect(await run(python!, ['-m', 'grpc_tools.protoc', ...options, ...protos])).toMatchObject({ code: 0 });

      await using service = await startService();
      const script = join(import.meta.dirname, 'plants_client.py');
      const ended = await run(python!, [script, code, service.grpcUrl, await service.token('alice')]);
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      const plants = ['-9223372036854775808', '9007199254740993', '9223372036854775807'].map((name) => ({
        name,
        tag: '',
      }));
      expect(JSON.parse(ended.stdout)).toEqual({
        created: plants,
        ascending: true,
        pages: [plants.slice(0, 2), plants.slice(2)],
        streamed: plants,
        twice: { code: 'ALREADY_EXISTS', reason: 'PLANT_ALREADY_EXISTS', domain: 'plantstore' },
        missing: { code: 'NOT_FOUND', reason: 'PLANT_NOT_FOUND', domain: 'plantstore' },
        anonymous: { code: 'UNAUTHENTICATED', reason: 'TOKEN_MISSING', domain: 'plantstore' },
      });
    } finally {
      rmSync(code, { recursive: true });
    }
  },
  180_000,
);
