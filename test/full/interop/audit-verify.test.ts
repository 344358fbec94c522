import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { FORMATS } from '../../../src/audit/formats/formats.ts';
import { headAt, seal, subjectOf } from '../../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../../src/log/event/event.ts';
import { formatCheckpoint } from '../../../src/tlog/checkpoint.ts';
import { signNote } from '../../../src/tlog/note.ts';
import { noteSigner } from '../../../src/tlog/signer.ts';
import { formatVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { eventArbitrary } from '../../support/arbitraries.ts';
import { encoded } from '../../support/encoded.ts';
import { chain } from '../../support/events.ts';
import { buildGo } from '../../support/go.ts';
import { findPython } from '../../support/python.ts';
import { run } from '../../support/run.ts';
import { withoutContent } from '../../support/tampering.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { checkpointOf } from '../../support/tree.ts';

const go = await buildGo('test/full/interop/go');
const python = await findPython(['grpcio-tools==1.85.1', 'cryptography==50.0.2']);

/** A log of which the first three events were erased by the last. */
function erasedLog(): LoggedEvent[] {
  const events: LoggedEvent[] = chain(EMPTY_HEAD, fc.sample(eventArbitrary, 20));
  const head = headAt(events.at(-1)!);
  const subject = subjectOf({ owner: 'alice', key: new Uint8Array(16) });
  const event = { type: 'OwnerErased', actor: 'operator', erased: 3, subject } as const;
  const erasure = seal(head, event, crypto.randomUUID(), head.time);
  return [...events.map((event, index) => (index < 3 ? withoutContent(event, erasure.position) : event)), erasure];
}

describe.skipIf(python === undefined)('an export, verified in Python from event.proto alone', () => {
  const directory = temporaryDirectory(afterAll);
  const events = chain(EMPTY_HEAD, fc.sample(eventArbitrary, 200));
  const { privateKey } = generateKeyPairSync('ed25519');
  const vkey = formatVerifierKey(noteSigner('log.example', privateKey).key);
  const signed = signNote(formatCheckpoint(checkpointOf(events.slice(0, 150))), [
    noteSigner('log.example', privateKey),
  ]);

  const file = (name: string, content: string | Uint8Array): string => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  };

  const verify = (...files: string[]) => run(python!, ['test/full/interop/audit_verify.py', 'proto', ...files]);

  const verifyInGo = (name: string) => run(go!, ['proto', name]);

  const hashAt = (position: number) => Buffer.from(events[position - 1]!.hash).toString('hex');

  describe.each(Object.keys(FORMATS) as (keyof typeof FORMATS)[])('%s', (format) => {
    const exported = (log: readonly LoggedEvent[]) => file(`log.${format}`, FORMATS[format].encode(log));

    test('is whole, whatever the events hold, and ends with the same hash', async () => {
      expect(await verify(exported(events))).toEqual({ code: 0, stdout: `200 ${hashAt(200)}\n`, stderr: '' });
    });

    test.each([
      ['changed', (log: LoggedEvent[]) => log.with(99, encoded({ ...log[99]!, eventId: 'x' })), 100],
      ['left out', (log: LoggedEvent[]) => log.toSpliced(99, 1), 100],
      ['doubled', (log: LoggedEvent[]) => log.toSpliced(99, 0, log[98]!), 100],
    ])('an event that was %s is found', async (_, change, position) => {
      const { code, stderr } = await verify(exported(change(events)));
      expect({ code, stderr }).toEqual({ code: 1, stderr: `broken at position ${position}\n` });
    });

    test('a checkpoint that was signed proves that the log extends it', async () => {
      const checkpoint = file('log.checkpoint', signed);
      expect(await verify(exported(events), checkpoint, vkey)).toMatchObject({ code: 0 });
      expect(await verify(exported(events), checkpoint, file('log.vkey', `${vkey}\n`))).toMatchObject({ code: 0 });
      expect(await verify(exported(events), checkpoint)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('Usage: audit_verify.py'),
      });
      const cut = await verify(exported(events.slice(0, 100)), checkpoint, vkey);
      expect(cut).toMatchObject({ code: 1, stderr: 'does not extend the checkpoint of 150 events\n' });
      const other = file('other.checkpoint', signed.replace('\n150\n', '\n100\n'));
      expect(await verify(exported(events), other, vkey)).toMatchObject({
        code: 1,
        stderr: `${other} was changed: the signature of log.example is invalid\n`,
      });
    });

    test('a file that is not what it should be is named, without a traceback', async () => {
      const [log, checkpoint] = [exported(events), file('log.checkpoint', signed)];
      const another = formatVerifierKey(noteSigner('log.example', generateKeyPairSync('ed25519').privateKey).key);
      const garbage = file('garbage', Buffer.from('{"position":1}\n\xff', 'latin1'));
      for (const [files, told] of [
        [[log, checkpoint, file('text', 'hello\n')], ' is neither a vkey'],
        [[log, checkpoint, 'log.example+00000000+AQ=='], ' is neither a vkey'],
        [[log, checkpoint, another], `has not signed ${checkpoint}`],
        [[log, file('text', 'hello\n'), vkey], 'text is not a checkpoint'],
        [[log, garbage, vkey], `${garbage} cannot be read`],
        [[log, '/nowhere', vkey], '/nowhere cannot be read'],
        [['/nowhere'], '/nowhere cannot be read'],
        [[garbage], `event 1 of ${garbage} is no event of an export`],
        [[file('text', 'hello\n')], 'is no event of an export'],
      ] as const) {
        const { code, stdout, stderr } = await verify(...files);
        expect({ code, stdout }, stderr).toEqual({ code: 1, stdout: '' });
        expect(stderr).toContain(told);
        expect(stderr).not.toContain('Traceback');
      }
    });
  });

  describe('an owner was erased', () => {
    const log = erasedLog();
    const hash = Buffer.from(log.at(-1)!.hash).toString('hex');
    const whole = { code: 0, stdout: `${log.length} ${hash}\n`, stderr: '' };

    test('the log is as whole as before, in every format, and so are the events alone', async () => {
      for (const format of Object.values(FORMATS))
        expect(await verify(file('erased', format.encode(log)))).toEqual(whole);
      expect(await verify(file('public.ndjson', FORMATS.ndjson.encodePublic(log)))).toEqual(whole);
    });

    test('a content that is missing too much, or was changed, is found', async () => {
      const more = log.with(4, withoutContent(log[4]!, log.length));
      const changed = log.with(4, encoded({ ...log[4]!, salt: new Uint8Array(16) }));
      const found = (position: number) => ({ code: 1, stderr: `broken at position ${position}\n` });
      expect(await verify(file('more', FORMATS.protobuf.encode(more)))).toMatchObject(found(log.length));
      expect(await verify(file('changed', FORMATS.protobuf.encode(changed)))).toMatchObject(found(5));
    });

    test.skipIf(go === undefined)('a verifier in Go that has nothing but event.proto says the same', async () => {
      expect(await verifyInGo(file('events', FORMATS.protobuf.encode(events)))).toMatchObject({
        stdout: `200 ${hashAt(200)}\n`,
      });
      expect(await verifyInGo(file('erased', FORMATS.protobuf.encode(log)))).toEqual(whole);
      expect(await verifyInGo(file('public', FORMATS.protobuf.encodePublic(log)))).toEqual(whole);
      const found = (position: number) => ({ code: 1, stderr: `broken at position ${position}\n` });
      const more = log.with(4, withoutContent(log[4]!, log.length));
      expect(await verifyInGo(file('more', FORMATS.protobuf.encode(more)))).toMatchObject(found(log.length));
      const changed = log.with(4, encoded({ ...log[4]!, salt: new Uint8Array(16) }));
      expect(await verifyInGo(file('changed', FORMATS.protobuf.encode(changed)))).toMatchObject(found(5));
      expect(await verifyInGo(file('cut', FORMATS.protobuf.encode(log.toSpliced(4, 1))))).toMatchObject(found(5));
    });
  });
});
