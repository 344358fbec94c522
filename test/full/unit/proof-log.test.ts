import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRecord } from '../../../console/src/proof/event.ts';
import { proveEvent } from '../../../console/src/proof/event-proof.ts';
import { openLog } from '../../../console/src/proof/log.ts';
import type { Memory } from '../../../console/src/proof/memory.ts';
import { type Outcome, outcomeOf } from '../../../console/src/proof/outcome.ts';
import { proveReceipt } from '../../../console/src/proof/receipt.ts';
import { type LogSource, textOf } from '../../../console/src/proof/source.ts';
import { proveWholeLog } from '../../../console/src/proof/whole-log.ts';
import { checkReceipt } from '../../../src/audit/check-receipt.ts';
import { seal } from '../../../src/log/event/chain.ts';
import { EMPTY_HEAD } from '../../../src/log/event/event.ts';
import { provenRecordBytes, recordBytes } from '../../../src/log/event/record.ts';
import { cosigner, noteSigner } from '../../../src/tlog/signer.ts';
import { formatVerifierKey, parseLogKey } from '../../../src/tlog/verifier-key.ts';
import { laterEvents } from '../../store/later-fields.ts';
import { eventArbitrary } from '../../support/arbitraries.ts';
import { encoded } from '../../support/encoded.ts';
import { added, chain } from '../../support/events.ts';
import { emptyMemory, flipped, ORIGIN, ProofLog, type Tamper, VKEY } from '../../support/proof-log.ts';
import { count } from '../../support/soak.ts';
import { withoutContent } from '../../support/tampering.ts';

const WITNESS = 'witness.example/one';
const witnessKey = generateKeyPairSync('ed25519').privateKey;
const witnessVkey = formatVerifierKey(cosigner(WITNESS, witnessKey).key);

const events = chain(EMPTY_HEAD, fc.sample(eventArbitrary, 600));
const log = new ProofLog(events, [cosigner(WITNESS, witnessKey)]);

/** More than a tile of level 1 has, so that there is one of level 2. */
const longLog = new ProofLog(
  chain(
    EMPTY_HEAD,
    Array.from({ length: 66_100 }, (_, id) => added('alice', BigInt(id))),
  ),
);

const trusting = (): Memory => {
  const memory = emptyMemory();
  memory.trustWitnesses([witnessVkey]);
  return memory;
};

const eventOutcome = (source: LogSource, memory: Memory, position: number, record?: Uint8Array) =>
  outcomeOf(async (findings) =>
    proveEvent(await openLog(source, memory, findings), position, record && parseRecord(record), findings),
  );

const openOutcome = (source: LogSource, memory: Memory) =>
  outcomeOf(async (findings) => {
    const { cosignatures } = await openLog(source, memory, findings);
    return cosignatures;
  });

const wholeOutcome = (source: LogSource, memory: Memory, onProgress = () => {}) =>
  outcomeOf(async (findings) => proveWholeLog(await openLog(source, memory, findings), findings, onProgress));

function expectVerified<Value>(outcome: Outcome<Value>): Extract<Outcome<Value>, { verified: true }> {
  if (!outcome.verified) throw new Error(`not verified: ${outcome.reason}`);
  return outcome;
}

const reasonOf = (outcome: Outcome<unknown>): string => (outcome.verified ? 'verified' : outcome.reason);

const sizeAndPosition = fc
  .integer({ min: 1, max: 600 })
  .chain((size) => fc.tuple(fc.constant(size), fc.integer({ min: 1, max: size })));

/** Flips a bit of the answer to the n-th request whose path fits. */
const flipping = (fits: RegExp, nth: number, bit: number): Tamper & { readonly done: () => boolean } => {
  let seen = 0;
  const tamper: Tamper = (path, bytes) => (fits.test(path) && seen++ === nth ? flipped(bytes, bit) : bytes);
  return Object.assign(tamper, { done: () => seen > nth });
};

describe('an event', () => {
  test('is verified, with what it says, in a log of any size', async () => {
    await fc.assert(
      fc.asyncProperty(sizeAndPosition, async ([size, position]) => {
        const record = recordBytes(events[position - 1]!);
        const { value, checked, unchecked } = expectVerified(
          await eventOutcome(log.source(size), trusting(), position, record),
        );
        expect(value.event).toMatchObject({ position: BigInt(position), eventId: events[position - 1]!.eventId });
        expect(value.content).toMatchObject({ owner: events[position - 1]!.event.owner });
        expect(checked.join('\n')).toMatch(
          /signed by the key .*\n.*witness.example\/one cosigned.*\n.*leads up to the root/,
        );
        expect(unchecked.join('\n')).toMatch(/for the first time(.|\n)*hash in the chain/);
      }),
    );
  });

  test('is verified in a log with three levels of tiles', async () => {
    for (const [size, position] of [
      [65_536, 65_536],
      [65_537, 65_537],
      [66_048, 1],
      [66_100, 40_000],
      [66_100, 66_100],
    ] as const)
      expectVerified(await eventOutcome(longLog.source(size), emptyMemory(), position));
  });

  test('is not verified with any bit of a tile flipped', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 65_600, max: 66_100 }),
        fc.nat(65_599),
        fc.nat(2),
        fc.nat(),
        async (size, index, nth, bit) => {
          const tamper = flipping(/^tile\/\d/, nth, bit);
          const outcome = await eventOutcome(longLog.source(size, tamper), emptyMemory(), index + 1);
          if (tamper.done()) expect(reasonOf(outcome)).toMatch(/do not match the root|differs from the tree/);
          else expectVerified(outcome);
        },
      ),
    );
  });

  test('is not verified with any bit of it flipped', async () => {
    await fc.assert(
      fc.asyncProperty(sizeAndPosition, fc.nat(), async ([size, position], bit) => {
        // The only entry of its bundle, so that each bit is its own.
        const alone = new ProofLog([events[position - 1]!]);
        const tamper = flipping(/^tile\/entries/, 0, bit);
        expect(reasonOf(await eventOutcome(alone.source(1, tamper), emptyMemory(), 1))).not.toBe('verified');
        const changed: Tamper = (path, bytes) =>
          path.startsWith('tile/entries') ? withChangedEvent(bytes, position, bit) : bytes;
        expect(reasonOf(await eventOutcome(log.source(size, changed), emptyMemory(), position))).toContain(
          `The event at position ${position} differs from the tree of the checkpoint`,
        );
      }),
    );
  });

  test('is not verified with any bit of what the service tells of it flipped', async () => {
    await fc.assert(
      fc.asyncProperty(sizeAndPosition, fc.nat(), async ([size, position], bit) => {
        const record = flipped(provenRecordBytes(events[position - 1]!), bit);
        const outcome = await outcomeOf(async (findings) =>
          proveEvent(await openLog(log.source(size), emptyMemory(), findings), position, parseRecord(record), findings),
        );
        expect(outcome.verified).toBe(false);
      }),
      { numRuns: count(60, 1_000) },
    );
  });

  test('is not verified where the checkpoint does not reach it', async () => {
    expect(reasonOf(await eventOutcome(log.source(10), emptyMemory(), 11))).toContain(
      'has 10 events, so none at position 11',
    );
    for (const position of [0, -1, 1.5, Number.NaN])
      expect(reasonOf(await eventOutcome(log.source(10), emptyMemory(), position))).toContain('a whole number from 1');
  });

  test('is not verified where another stands in its place', async () => {
    const shifted = new ProofLog([events[1]!, events[0]!]);
    expect(reasonOf(await eventOutcome(shifted.source(2), emptyMemory(), 1))).toContain('says that its position is 2');
  });

  test('that is erased is verified with the event that erased it, and not without', async () => {
    const { erased, erasure } = erasedLog();
    const outcome = expectVerified(
      await eventOutcome(erased.source(3), emptyMemory(), 1, recordBytes(erased.events[0]!)),
    );
    expect(outcome.value).toMatchObject({ erasedBy: 3n });
    expect(outcome.value.content).toBeUndefined();
    expect(outcome.checked.join()).toContain('OwnerErased at position 3');
    for (const erasedBy of [0, 2, 4]) {
      const record = { ...erased.events[0]!, erasedBy: erasedBy === 0 ? undefined : erasedBy };
      const refused = await eventOutcome(erased.source(3), emptyMemory(), 1, recordBytes(record));
      expect(refused.verified).toBe(false);
    }
    expect(erasure.type).toBe('OwnerErased');
  });
});

/** A bundle in which a bit of the event of a position is flipped. */
function withChangedEvent(bundle: Uint8Array, position: number, bit: number): Uint8Array {
  let at = 0;
  for (let skip = (position - 1) % 256; skip > 0; skip--) at += 2 + (bundle[at]! << 8) + bundle[at + 1]!;
  const length = (bundle[at]! << 8) + bundle[at + 1]!;
  const changed = new Uint8Array(bundle);
  changed.set(flipped(bundle.subarray(at + 2, at + 2 + length), bit), at + 2);
  return changed;
}

/** Two plants of an owner, and the erasure of the first. */
function erasedLog() {
  const erasure = { type: 'OwnerErased' as const, actor: 'operator', erased: 1 };
  const sealed = chain(EMPTY_HEAD, [added('alice', 1n), added('bob', 1n)]);
  const last = seal(sealed[1]!, erasure, crypto.randomUUID(), Date.now());
  const erased = new ProofLog([withoutContent(sealed[0]!, 3), sealed[1]!, last]);
  return { erased, erasure: last };
}

describe('a checkpoint', () => {
  test('that a trusted witness has cosigned says so', async () => {
    const { value } = expectVerified(await openOutcome(log.source(7), trusting()));
    expect(value).toMatchObject({ cosigned: 1, trusted: 1 });
  });

  test('is not verified with any bit of the text or of the signature of its log flipped', async () => {
    const note = await log.checkpoint(300);
    const end = Buffer.byteLength(note.slice(0, note.lastIndexOf('— ')));
    for (let bit = 0; bit < end * 8; bit++) {
      const outcome = await openOutcome(
        log.source(300, (path, bytes) => (path === 'checkpoint' ? flipped(bytes, bit) : bytes)),
        emptyMemory(),
      );
      expect(reasonOf(outcome), `bit ${bit}`).not.toBe('verified');
    }
  });

  test('of a witness that is not known counts for nothing', async () => {
    const { value, unchecked } = expectVerified(await openOutcome(log.source(7), emptyMemory()));
    expect(value).toMatchObject({ cosigned: 0, trusted: 0, all: [{ witness: WITNESS, time: undefined }] });
    expect(unchecked.join()).toContain(`in the name of ${WITNESS}`);
  });

  test('that a trusted witness has not cosigned says so', async () => {
    const { unchecked } = expectVerified(await openOutcome(new ProofLog(events).source(7), trusting()));
    expect(unchecked.join()).toContain(`${WITNESS}, which you trust, has not cosigned it`);
  });
});

describe('what the browser remembers', () => {
  test('is extended by every later checkpoint of the same log', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(600), fc.nat(600), async (one, other) => {
        const memory = emptyMemory();
        const [older, newer] = [Math.min(one, other), Math.max(one, other)];
        expectVerified(await openOutcome(log.source(older), memory));
        const { checked } = expectVerified(await openOutcome(log.source(newer), memory));
        expect(checked.join()).toContain('this browser saw on');
        expect(memory.log()).toMatchObject({ size: newer, vkey: VKEY });
      }),
    );
    const memory = emptyMemory();
    for (const size of [0, 1, 255, 256, 65_535, 65_536, 65_792, 66_100])
      expectVerified(await openOutcome(longLog.source(size), memory));
  });

  test('is not extended by a log of the same key with another history, and stays remembered', async () => {
    await fc.assert(
      fc.asyncProperty(sizeAndPosition, fc.nat(100), async ([size, from], more) => {
        const forked = chain(
          from === 1 ? EMPTY_HEAD : events[from - 2]!,
          Array.from({ length: size - from + 1 + more }, (_, id) => added('mallory', BigInt(id))),
        );
        const fork = new ProofLog([...events.slice(0, from - 1), ...forked]);
        const memory = emptyMemory();
        expectVerified(await openOutcome(log.source(size), memory));
        const before = memory.log();
        const reason = reasonOf(await eventOutcome(fork.source(size + more), memory, 1));
        expect(reason).toContain(`The log was rewritten: it does not begin with the ${size} event`);
        expect(memory.log()).toEqual(before);
      }),
    );
  });

  test('is not extended by a smaller checkpoint', async () => {
    const memory = emptyMemory();
    expectVerified(await openOutcome(log.source(300), memory));
    expect(reasonOf(await openOutcome(log.source(299), memory))).toContain(
      'rolled back: it has 299 events, fewer than the 300',
    );
    expect(memory.log()!.size).toBe(300);
  });

  test('is never replaced by less, as another tab would that was slower', async () => {
    const memory = emptyMemory();
    expectVerified(await openOutcome(log.source(300), memory));
    const newest = memory.log()!;
    memory.remember({ ...newest, size: 299 });
    expect(memory.log()).toEqual(newest);
  });

  test('of the key does not change by itself', async () => {
    const memory = emptyMemory();
    expectVerified(await openOutcome(log.source(3), memory));
    const other = formatVerifierKey(noteSigner(ORIGIN, generateKeyPairSync('ed25519').privateKey).key);
    const source = { ...log.source(5), key: async () => other };
    expect(reasonOf(await openOutcome(source, memory))).toContain('is not the one that this browser has trusted');
    memory.forget();
    expect(reasonOf(await openOutcome(source, memory))).toContain('no signature by');
    expect(memory.log()).toBeUndefined();
  });

  test('of another log of the same service makes this one not verified, until the user forgets it', async () => {
    const memory = emptyMemory();
    memory.remember({
      origin: 'log.example/old',
      vkey: VKEY,
      trustedSince: 0,
      checkpoint: '',
      size: 9,
      seenAt: Date.UTC(2026, 0, 2, 12),
    });
    expect(reasonOf(await openOutcome(log.source(3), memory))).toMatch(
      /shows the log log.example\/plants. On 2026-01-0[123] .* the log log.example\/old of 9 events/,
    );
    const old = memory.log()!;
    memory.remember({ ...old, origin: ORIGIN, size: 10 });
    expect(memory.log()).toEqual(old);
    memory.forget();
    expectVerified(await openOutcome(log.source(3), memory));
  });
});

describe('a receipt', () => {
  const keyOf = async () => ({ vkey: VKEY, trust: 'The key.' });
  const receiptOutcome = (receipt: Uint8Array<ArrayBuffer>, witnesses: readonly string[] = []) =>
    outcomeOf((findings) => proveReceipt(textOf(receipt), keyOf, witnesses, findings));

  /** A flipped bit may make the content a field that nobody knows: then the receipt shows none, and says so. */
  const expectNoneButWithoutContent = (outcome: Awaited<ReturnType<typeof receiptOutcome>>, what?: string) => {
    if (outcome.verified) expect(outcome.value.record.content, what).toBeUndefined();
  };

  test('is verified, and not with any bit flipped', async () => {
    const bare = new ProofLog(events);
    await fc.assert(
      fc.asyncProperty(sizeAndPosition, fc.nat(), async ([size, position], bit) => {
        const receipt = await bare.receipt(size, position);
        const { value } = expectVerified(await receiptOutcome(receipt));
        expect(value.record.event?.position).toBe(BigInt(position));
        expect(value.record.content).toMatchObject({ owner: events[position - 1]!.event.owner });
        expectNoneButWithoutContent(await receiptOutcome(flipped(receipt, bit)));
      }),
      { numRuns: count(60, 1_000) },
    );
  });

  test('is verified with the cosignature of a witness, which is not with a bit flipped', async () => {
    const receipt = await log.receipt(300, 7);
    expect(expectVerified(await receiptOutcome(receipt, [witnessVkey])).value.cosignatures.cosigned).toBe(1);
    const start = Buffer.from(receipt).lastIndexOf('— ');
    for (let bit = start * 8; bit < receipt.length * 8; bit++) {
      const outcome = await receiptOutcome(flipped(receipt, bit), [witnessVkey]);
      if (outcome.verified) expect(outcome.value.cosignatures.cosigned, `bit ${bit}`).toBe(0);
    }
  });

  test('of an erased event is verified, and says that it does not show the content', async () => {
    const { erased } = erasedLog();
    const receipt = await erased.receipt(3, 1);
    const { value, checked, unchecked } = expectVerified(await receiptOutcome(receipt));
    expect([value.record.event?.position, value.record.content]).toEqual([1n, undefined]);
    expect(checked.join()).not.toContain('content');
    expect(unchecked.join()).toContain('the receipt does not show it, and proves no erasure');
    expect(checkReceipt(textOf(receipt), parseLogKey(VKEY)).event).toMatchObject({ position: 1, content: undefined });
  });

  test('of an event of a later release is verified, and not with any bit flipped', async () => {
    const later = new ProofLog(laterEvents());
    const { length } = later.events;
    for (const { position, event } of later.events) {
      const receipt = await later.receipt(length, position);
      const { value } = expectVerified(await receiptOutcome(receipt));
      expect(value.record.content?.actor).toBe(event!.actor);
      for (let bit = position; bit < receipt.length * 8; bit += 97)
        expectNoneButWithoutContent(await receiptOutcome(flipped(receipt, bit)), `bit ${bit}`);
    }
  });

  test('of another key is not verified, and what is no receipt neither', async () => {
    const other = formatVerifierKey(noteSigner(ORIGIN, generateKeyPairSync('ed25519').privateKey).key);
    const receipt = await log.receipt(300, 7);
    const outcome = await outcomeOf((findings) =>
      proveReceipt(textOf(receipt), async () => ({ vkey: other, trust: '' }), [], findings),
    );
    expect(reasonOf(outcome)).toContain('no signature by');
    for (const text of ['', 'x', '\n\n', 'c2sp.org/tlog-proof@v1\nindex 0\n\n'])
      expect(reasonOf(await receiptOutcome(new Uint8Array(Buffer.from(text))))).toContain('This is not a receipt');
  });
});

describe('a whole log', () => {
  test('of any size is verified', async () => {
    for (const size of [0, 1, 255, 256, 257, 512, 600]) {
      const { checked } = expectVerified(await wholeOutcome(log.source(size), emptyMemory()));
      expect(checked.join()).toContain(`the ${size} event`);
    }
  });

  test('with events of a later release is verified', async () => {
    const later = laterEvents();
    expectVerified(await wholeOutcome(new ProofLog(later).source(later.length), emptyMemory()));
  });

  test('is not verified with any bit of an entry or a tile flipped', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 600 }), fc.nat(3), fc.nat(), async (size, nth, bit) => {
        const tamper = flipping(/^tile/, nth, bit);
        const outcome = await wholeOutcome(log.source(size, tamper), emptyMemory());
        if (tamper.done()) expect(reasonOf(outcome)).not.toBe('verified');
        else expectVerified(outcome);
      }),
      { numRuns: count(60, 1_000) },
    );
  });

  test('names the event that was changed', async () => {
    const changed: Tamper = (path, bytes) => (path === 'tile/entries/001' ? withChangedEvent(bytes, 300, 77) : bytes);
    expect(reasonOf(await wholeOutcome(log.source(600, changed), emptyMemory()))).toContain(
      'The event at position 300 differs',
    );
  });

  test('is not verified where positions or times are out of order', async () => {
    const swapped = new ProofLog([events[1]!, events[0]!]);
    expect(reasonOf(await wholeOutcome(swapped.source(2), emptyMemory()))).toContain(
      'position 1 says that its position is 2',
    );
    const early = new ProofLog([events[0]!, encoded({ ...events[1]!, time: events[0]!.time - 1 })]);
    expect(reasonOf(await wholeOutcome(early.source(2), emptyMemory()))).toContain('position 2 is before');
  });

  test('is read with few bundles in memory, however long it is', async () => {
    let [open, most] = [0, 0];
    const source = longLog.source(66_100);
    const counted: LogSource = {
      ...source,
      entries: async (index, width) => {
        most = Math.max(most, ++open);
        return source.entries(index, width);
      },
    };
    expectVerified(await wholeOutcome(counted, emptyMemory(), () => open--));
    expect(most).toBeLessThan(8);
  });
});
