import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { EMPTY_ROOT } from '../../src/tlog/hash.ts';
import { CosignedCheckpoints } from '../../src/transparency/cosigned-checkpoints.ts';
import { WitnessAheadError, type WitnessClient } from '../../src/transparency/witness-client.ts';

beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

const NAME = 'one.example';
const CHECKPOINT = { origin: 'log.example', size: 5, root: EMPTY_ROOT, note: '' };

/**
 * The cosigning of a log with so many events, of which a checkpoint of 5 was signed. The witness has seen 7 in its first
 * five requests.
 */
function cosigningOf(events: number) {
  const outcomes: string[] = [];
  const faults: (string | undefined)[] = [];
  let asked = 0;
  const cosign = async () => {
    if (++asked <= 5) throw new WitnessAheadError(NAME, 7, CHECKPOINT.size);
    return { name: NAME, id: 1, bytes: new Uint8Array(72) };
  };
  const cosigned = new CosignedCheckpoints({
    checkpoints: { latest: async () => CHECKPOINT },
    witnesses: [{ name: NAME, cosign } as unknown as WitnessClient],
    quorum: 1,
    onOutcome: (_, outcome) => outcomes.push(outcome),
    head: async () => ({ ...EMPTY_HEAD, position: events }),
    onFault: (fault) => faults.push(fault?.message),
  });
  onTestFinished(() => cosigned.close());
  return { outcomes, faults, cosigned };
}

test('where another instance was faster nothing is wrong with the log, and the witness is asked again at once', async () => {
  const { outcomes, faults, cosigned } = cosigningOf(7);
  await vi.advanceTimersByTimeAsync(5_500);
  expect(outcomes).toEqual([...Array(5).fill('late'), 'cosigned']);
  expect(faults).toEqual([undefined]);
  expect((await cosigned.latest()).size).toBe(5);
});

test('of a log without the events that a witness has seen it is told, and the witness is left alone for a while', async () => {
  const { outcomes, faults, cosigned } = cosigningOf(6);
  await vi.advanceTimersByTimeAsync(5_500);
  expect(new Set(outcomes)).toEqual(new Set(['ahead']));
  expect(outcomes.length).toBeLessThan(5);
  const restored = 'if an older backup was restored, follow "After a restore that was signed or witnessed beyond"';
  expect(new Set(faults)).toEqual(
    new Set([
      `the witness ${NAME} has cosigned a checkpoint of 7 events, but this log has 5; ${restored} in docs/operations.md`,
    ]),
  );
  await expect(cosigned.latest()).rejects.toThrow('a witness has cosigned events that this log does not have');
});

test('a witness that has not answered is asked nothing more, while enough others cosign each checkpoint', async () => {
  let [size, requests] = [0, 0];
  const slow = () => {
    requests++;
    return new Promise(() => {});
  };
  const quick = async () => ({ name: NAME, id: 1, bytes: new Uint8Array(72) });
  const witnesses = [slow, quick].map((cosign, at) => ({ name: `${at}.example`, cosign }) as unknown as WitnessClient);
  const cosigned = new CosignedCheckpoints({
    checkpoints: { latest: async () => ({ ...CHECKPOINT, size: ++size }) },
    ...{ witnesses, quorum: 1, onOutcome: () => {}, head: async () => EMPTY_HEAD, onFault: () => {} },
  });
  onTestFinished(() => cosigned.close());
  await vi.advanceTimersByTimeAsync(10_000);
  expect((await cosigned.latest()).size).toBeGreaterThan(3);
  expect(requests).toBe(1);
});

test('after a time in which no checkpoint could be signed, the next one is cosigned', async () => {
  let attempts = 0;
  const latest = async () => {
    if (++attempts <= 2) throw new Error('the store is away');
    return CHECKPOINT;
  };
  const cosign = async () => ({ name: NAME, id: 1, bytes: new Uint8Array(72) });
  const cosigned = new CosignedCheckpoints({
    checkpoints: { latest },
    witnesses: [{ name: NAME, cosign } as unknown as WitnessClient],
    ...{ quorum: 1, onOutcome: () => {}, head: async () => EMPTY_HEAD, onFault: () => {} },
  });
  onTestFinished(() => cosigned.close());
  await vi.advanceTimersByTimeAsync(5_000);
  expect((await cosigned.latest()).size).toBe(5);
});
