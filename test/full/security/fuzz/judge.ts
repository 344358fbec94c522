import { expect } from 'vitest';
import { ERRORS, type Reason } from '../../../../src/domain/errors.ts';
import { answersIn } from '../../../support/answers.ts';
import type { Reply } from '../../../support/http.ts';
import type { HttpRequest } from './requests.ts';

/**
 * A write that was acknowledged: the position of its event, and the plant that was added, or undefined for a delete.
 */
export interface Acknowledged {
  readonly position: number;
  readonly plant: { readonly name: string; readonly tag?: string } | undefined;
  /** Whether it is that of an earlier request with the same idempotency key. */
  readonly isReplay: boolean;
}

const CONNECT = /^\/plantstore\.v1\./;

/**
 * Expects of the answers to a request what the contract promises whatever was sent: no 5xx but 503 (of Connect 501 and
 * 504 too), each failure in its form, and to a whole request exactly one answer. Returns the write that it
 * acknowledges, if it does.
 */
export function judge({ method, target, whole }: HttpRequest, bytes: Buffer): Acknowledged | undefined {
  if (!whole) {
    // Whether a body follows depends on what the server took for the method, so only the first answer can be read for
    // certain.
    const [first] = /^HTTP\/1\.1 \d{3} /.exec(bytes.toString('latin1')) ?? [];
    expect(first ?? 'HTTP/1.1 000 ', bytes.toString('latin1', 0, 500)).toMatch(
      /^HTTP\/1\.1 ([0-4]\d\d|503) $|^HTTP\/1\.1 50[14] $/,
    );
    return undefined;
  }
  const answers = answersIn(bytes, method === 'HEAD');
  expect(answers).toHaveLength(1);
  const answer = answers[0]!;
  if (CONNECT.test(target)) return judgeConnect(target, answer, method === 'HEAD');
  expect([200, 204, 400, 401, 403, 404, 405, 408, 413, 414, 415, 422, 429, 503, 302]).toContain(answer.status);
  if (answer.status >= 400) expectErrorBody(answer, method === 'HEAD');
  const position = answer.headers['plantstore-position'];
  if (position === undefined) return undefined;
  return {
    position: Number(position),
    plant: answer.status === 204 ? undefined : JSON.parse(answer.text),
    isReplay: isReplay(answer),
  };
}

const isReplay = ({ headers }: Reply): boolean => headers['idempotency-replayed'] === 'true';

function expectErrorBody({ headers, text, status }: Reply, isHead: boolean): void {
  expect(headers['content-type']).toMatch(/^application\/json(; charset=utf-8)?$/);
  const reason = headers['plantstore-reason'] as Reason;
  expect(ERRORS[reason]?.status, reason).toBe(status);
  if (status === 503 || status === 429) expect(headers['retry-after']).toMatch(/^\d+$/);
  if (isHead) return;
  const error = JSON.parse(text);
  expect(error).toEqual({ error: ERRORS[reason].code, message: expect.stringMatching(/./) });
}

function judgeConnect(target: string, answer: Reply, isHead: boolean): Acknowledged | undefined {
  const { status, headers, text } = answer;
  expect([200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 429, 499, 501, 503, 504]).toContain(status);
  if (isHead) {
    expectErrorBody(answer, true);
    return undefined;
  }
  if (status === 200) {
    if (!headers['content-type']!.startsWith('application/json')) return undefined;
    const { position, plant } = JSON.parse(text);
    const write = { position: Number(position), isReplay: isReplay(answer) };
    if (target.endsWith('/CreatePlant')) return { ...write, plant: plantOf(plant) };
    if (target.endsWith('/DeletePlant')) return { ...write, plant: undefined };
    return undefined;
  }
  const error = JSON.parse(text);
  // Connect's own form, or the Error body of what never came to it.
  if (typeof error.code === 'string') expect(error.code).not.toMatch(/^(internal|unknown|data_loss)$/);
  else expectErrorBody(answer, false);
  return undefined;
}

/** The JSON form of protobuf leaves an empty name out. */
const plantOf = ({ name = '', tag }: { name?: string; tag?: string }) => (tag === undefined ? { name } : { name, tag });
