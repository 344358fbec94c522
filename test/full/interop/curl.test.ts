import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';

const SERVICE = 'plantstore.v1.PlantStoreService';
const ID = '9007199254740993';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** A command line client: what calls a method, and how it exits with an error of the service. */
interface Tool {
  readonly name: string;
  call(
    token: string,
    method: string,
    request: object,
  ): Promise<{ code: number | null; stdout: string; stderr: string }>;
  /** What its output says of NOT_FOUND. */
  readonly notFound: RegExp;
}

const buf = (protocol: string, url: () => string, options: readonly string[]): Tool => ({
  name: `buf curl, ${protocol}`,
  call: (token, method, request) => {
    const target = `${url()}/${SERVICE}/${method}`;
    const all = ['curl', `--protocol=${protocol}`, ...options, '-H', `authorization: Bearer ${token}`];
    return run('node_modules/.bin/buf', [...all, '-d', JSON.stringify(request), target]);
  },
  notFound: /"code": "not_found"/,
});

const grpcUrl = () => `http://${service.grpcUrl}`;
const TOOLS: Tool[] = [
  buf('connect', () => service.url, ['--schema=proto']),
  buf('grpcweb', () => service.url, ['--schema=proto']),
  buf('grpc', grpcUrl, ['--schema=proto', '--http2-prior-knowledge']),
  // Without a schema it asks reflection.
  { ...buf('grpc', grpcUrl, ['--http2-prior-knowledge']), name: 'buf curl, gRPC with reflection' },
];

const hasGrpcurl = (await run('grpcurl', ['-version']).catch(() => undefined))?.code === 0;
if (!hasGrpcurl) console.error('\nNOT TESTED: grpcurl, since it is not on PATH\n');
else
  TOOLS.push({
    name: 'grpcurl',
    call: (token, method, request) => {
      const options = ['-plaintext', '-H', `authorization: Bearer ${token}`, '-d', JSON.stringify(request)];
      return run('grpcurl', [...options, service.grpcUrl, `${SERVICE}/${method}`]);
    },
    notFound: /Code: NotFound.*"reason": "PLANT_NOT_FOUND"/s,
  });

describe.each(TOOLS)('$name', ({ name, call, notFound }) => {
  test('adds, lists, streams, deletes, and shows errors', async () => {
    const token = await service.token(name);
    const answer = async (method: string, request: object) => {
      const { code, stdout, stderr } = await call(token, method, request);
      expect(code, stderr).toBe(0);
      return JSON.parse(stdout);
    };
    const created = await answer('CreatePlant', { plant: { id: ID, name: 'Fern', tag: '' } });
    expect(created).toEqual({ plant: { name: 'Fern', tag: '' }, position: expect.stringMatching(/^[1-9]\d*$/) });
    expect(await answer('ListPlants', { limit: 1 })).toEqual({ plants: [{ name: 'Fern', tag: '' }] });
    expect(await answer('StreamPlants', {})).toMatchObject({ plants: [{ name: 'Fern', tag: '' }] });
    expect(await answer('DeletePlant', { id: ID })).toEqual({ position: expect.stringMatching(/^[1-9]\d*$/) });
    const missing = await call(token, 'DeletePlant', { id: ID });
    expect(missing.code).not.toBe(0);
    expect(missing.stdout + missing.stderr).toMatch(notFound);
  });
});
