import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { PlantStoreError } from '../../src/domain/errors.ts';
import { Admission, type AdmissionLimits, OVERLOADED } from '../../src/transport/admission/admission.ts';
import type { Entrant, Place } from '../../src/transport/admission/place.ts';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type Outcome = { place: Place } | PlantStoreError | 'waits';

/** An admission, with what it said of the requests that it refused, and of all of them in the order in which they came. */
function admission(limits: Partial<AdmissionLimits>) {
  const shed: string[] = [];
  const outcomes: Outcome[] = [];
  /** Those that went on, by number, in the order in which they did. */
  const proceeded: number[] = [];
  const admission = new Admission(
    { maxInFlight: 1_000, maxWait: 60_000, requestTimeout: 60, ...limits },
    (protocol, reason) => shed.push(`${protocol} ${reason}`),
  );
  onTestFinished(() => admission.close());
  const enter = (onAdmit = (_place: Place) => {}, about: Partial<Entrant> = {}) => {
    const index = outcomes.push('waits') - 1;
    const entrant: Mutable<Entrant> = {
      protocol: 'rest',
      mayWait: true,
      isGone: false,
      peer: 'somewhere',
      admit: (place) => {
        outcomes[index] = { place };
        onAdmit(place);
      },
      refuse: (error) => {
        outcomes[index] = error;
      },
      proceed: () => void proceeded.push(index),
      late: () => {},
      ...about,
    };
    admission.enter(entrant);
    return entrant;
  };
  const leave = (index: number) => (outcomes[index] as { place: Disposable }).place[Symbol.dispose]();
  const letIn = () => outcomes.filter((outcome) => typeof outcome === 'object' && 'place' in outcome).length;
  return { admission, shed, outcomes, proceeded, enter, leave, letIn };
}

/** Keeps the CPU for some milliseconds. */
function compute(milliseconds: number): void {
  const before = process.threadCpuUsage();
  for (;;) {
    const { user, system } = process.threadCpuUsage(before);
    if (user + system > milliseconds * 1_000) return;
  }
}

describe('beyond maxInFlight', () => {
  test('the first to come is let in as soon as one is done', async () => {
    const { admission: limited, outcomes, enter, leave } = admission({ maxInFlight: 2 });
    for (let request = 0; request < 4; request++) enter();
    expect(outcomes.slice(2)).toEqual(['waits', 'waits']);
    expect([limited.inFlight, limited.waiting]).toEqual([2, 2]);
    leave(1);
    while (limited.waiting === 2) await setImmediate();
    expect(outcomes.slice(2)).toEqual([{ place: expect.anything() }, 'waits']);
    expect([limited.inFlight, limited.waiting]).toEqual([2, 1]);
  });

  test('who has waited too long is refused, and nobody else', async () => {
    const { admission: limited, shed, outcomes, enter, leave } = admission({ maxInFlight: 1, maxWait: 20 });
    enter();
    enter();
    while (limited.waiting > 0) await setImmediate();
    expect(outcomes[1]).toBe(OVERLOADED);
    expect(shed).toEqual(['rest in_flight']);
    leave(0);
    enter();
    expect(outcomes[2]).toEqual({ place: expect.anything() });
    expect(shed).toHaveLength(1);
  });

  test('requests that end as they are let in give way to all that wait', async () => {
    const { admission: limited, enter, leave, letIn } = admission({ maxInFlight: 1 });
    enter();
    for (let request = 0; request < 10_000; request++) enter((place) => place[Symbol.dispose]());
    expect(letIn()).toBe(1);
    leave(0);
    while (limited.waiting > 0) await setImmediate();
    expect(letIn()).toBe(10_001);
  });

  test('so many wait, and more are refused at once', () => {
    const { shed, outcomes, enter } = admission({ maxInFlight: 1 });
    for (let request = 0; request < 10_001; request++) enter();
    expect(shed).toEqual([]);
    enter();
    expect(shed).toEqual(['rest queue']);
    expect(outcomes.at(-1)).toBe(OVERLOADED);
  });

  test('who may not wait is refused at once, and let in where there is room', () => {
    const { admission: limited, shed, outcomes, enter, leave } = admission({ maxInFlight: 1 });
    enter(undefined, { mayWait: false });
    enter(undefined, { mayWait: false });
    expect(outcomes).toEqual([{ place: expect.anything() }, OVERLOADED]);
    expect(shed).toEqual(['rest queue']);
    leave(0);
    enter(undefined, { mayWait: false });
    expect(limited.inFlight).toBe(1);
  });

  test('whose client has left is let in no more, and is counted', async () => {
    const { admission: limited, shed, outcomes, enter, leave } = admission({ maxInFlight: 1 });
    enter();
    for (let request = 0; request < 2; request++) enter();
    const gone = enter();
    gone.isGone = true;
    leave(0);
    while (limited.waiting === 3) await setImmediate();
    leave(1);
    while (limited.waiting === 2) await setImmediate();
    leave(2);
    while (limited.waiting > 0) await setImmediate();
    expect(outcomes[3]).toBe('waits');
    expect(shed).toEqual(['rest gone']);
    expect(limited.inFlight).toBe(0);
  });

  test('who waits when it closes is refused', () => {
    const { admission: limited, outcomes, enter } = admission({ maxInFlight: 1 });
    enter();
    enter();
    limited.close();
    expect(outcomes[1]).toBe(OVERLOADED);
  });
});

describe('while requests need more CPU than there is', () => {
  const DEAR = () => compute(1);

  test('fewer of them are let in at a time, and all of them in the end', async () => {
    const { admission: limited, enter, outcomes, letIn, leave } = admission({});
    for (let ended = 0; limited.waiting === 0; ) {
      for (let request = 0; request < 300; request++) enter(DEAR);
      for (const all = letIn(); ended < all; ended++) leave(ended);
      await setImmediate();
    }
    while (limited.waiting > 0) await setImmediate();
    expect(letIn()).toBe(outcomes.length);
  });

  test('who has waited too long for it is refused', async () => {
    const { shed, enter } = admission({ maxWait: 20 });
    while (shed.length === 0) {
      for (let request = 0; request < 300; request++) enter((place) => [DEAR(), place[Symbol.dispose]()]);
      await setImmediate();
    }
    expect(new Set(shed)).toEqual(new Set(['rest cpu']));
  });
});

describe('an owner', () => {
  test('has a quarter of the places; what is beyond waits, while others are let in', async () => {
    const { admission: limited, outcomes, enter, leave, proceeded } = admission({ maxInFlight: 8 });
    for (let request = 0; request < 3; request++) enter((place) => place.belongTo('mallory'));
    enter((place) => place.belongTo('alice'));
    expect(proceeded).toEqual([0, 1, 3]);
    expect([limited.inFlight, limited.waiting]).toEqual([3, 1]);
    leave(0);
    while (limited.waiting > 0) await setImmediate();
    expect(proceeded).toEqual([0, 1, 3, 2]);
    for (const index of [1, 2, 3]) leave(index);
    expect(outcomes).not.toContain(expect.any(Error));
    expect(limited.inFlight).toBe(0);
  });

  test('is refused what waits for too long, as its own doing', async () => {
    const { admission: limited, outcomes, shed, enter } = admission({ maxInFlight: 4, maxWait: 20 });
    for (let request = 0; request < 2; request++) enter((place) => place.belongTo('mallory'));
    while (limited.waiting > 0) await setImmediate();
    expect(outcomes[1]).toMatchObject({ reason: 'TOO_MANY_REQUESTS', status: 429, details: { retryAfter: 1 } });
    expect(shed).toEqual(['rest owner']);
    expect(limited.inFlight).toBe(1);
  });
});

describe('a request whose rest does not come', () => {
  /** Lets in a request of an owner, and waits until it has lost its place. */
  async function stall({ admission: limited, enter }: ReturnType<typeof admission>, owner: string, peer = owner) {
    const { arriving, inFlight } = limited;
    let stalled: Place | undefined;
    const entrant = enter(
      (place) => {
        stalled = place;
        place.belongTo(owner);
        place.awaitRest();
      },
      { peer },
    );
    while (limited.inFlight > inFlight) await setImmediate();
    return { place: stalled!, entrant, isArriving: limited.arriving > arriving };
  }

  test('has no place until it is whole, and then has one before those that were not let in yet', async () => {
    const scene = admission({ maxInFlight: 1 });
    const { place } = await stall(scene, 'alice');
    expect([scene.admission.inFlight, scene.admission.arriving]).toEqual([0, 1]);
    scene.enter();
    scene.enter();
    place.whole();
    expect(scene.admission.waiting).toBe(2);
    scene.leave(1);
    while (scene.admission.inFlight === 0) await setImmediate();
    expect(scene.proceeded).toEqual([0, 0]);
    expect(scene.outcomes[2]).toBe('waits');
  });

  test('is refused beyond what an owner, a connection, and all may have', async () => {
    const scene = admission({ maxInFlight: 64 });
    const { admission: limited, outcomes } = scene;
    // Others are served, so that places are wanted.
    for (let request = 0; request < 33; request++) scene.enter();
    for (const [owner, peer] of [
      ...Array<[string, string]>(4).fill(['mallory', 'a']),
      ...Array<[string, string]>(4).fill(['mallory', 'b']),
      ...Array<[string, string]>(4).fill(['alice', 'a']),
    ])
      expect((await stall(scene, owner, peer)).isArriving).toBe(true);
    expect((await stall(scene, 'mallory', 'c')).isArriving).toBe(false);
    expect(outcomes.at(-1)).toMatchObject({ reason: 'TOO_MANY_REQUESTS' });
    expect((await stall(scene, 'alice', 'a')).isArriving).toBe(false);
    expect(outcomes.at(-1)).toMatchObject({ reason: 'TOO_MANY_REQUESTS' });
    for (let owner = 0; limited.arriving < 32; owner++) await stall(scene, `owner ${owner}`);
    expect((await stall(scene, 'carol')).isArriving).toBe(false);
    expect(outcomes.at(-1)).toMatchObject({ reason: 'OVERLOADED' });
    expect(scene.shed).toEqual(['rest owner', 'rest owner', 'rest arrival']);
  });

  test('keeps its place beyond that while there are enough, and not longer', async () => {
    const { admission: limited, outcomes, enter } = admission({ maxInFlight: 64 });
    const half = (place: Place) => [place.belongTo('alice'), place.awaitRest()];
    for (let request = 0; request < 12; request++) enter(half);
    while (limited.arriving < 8) await setImmediate();
    await sleep(50);
    expect([limited.inFlight, limited.arriving]).toEqual([4, 8]);
    for (let request = 0; request < 29; request++) enter();
    while (limited.inFlight > 32) await setImmediate();
    expect(outcomes.slice(0, 12).filter((outcome) => outcome instanceof Error)).toHaveLength(1);
  });

  test('is told when it is late, and leaves nothing behind', async () => {
    const scene = admission({ requestTimeout: 0.05 });
    let late = false;
    const { place, entrant } = await stall(scene, 'alice');
    entrant.late = () => {
      late = true;
      place[Symbol.dispose]();
    };
    while (!late) await setImmediate();
    expect([scene.admission.inFlight, scene.admission.arriving]).toEqual([0, 0]);
  });
});

test('tokens that have to be verified take half of the places at most', () => {
  const { admission: limited, outcomes, enter, leave } = admission({ maxInFlight: 4 });
  const verify = (place: Place) => void place.verifying();
  for (let request = 0; request < 3; request++) enter(verify);
  expect(outcomes[2]).toMatchObject({ reason: 'OVERLOADED' });
  expect(limited.inFlight).toBe(2);
  leave(0);
  enter(verify);
  expect(outcomes[3]).toEqual({ place: expect.anything() });
});

test('without requests it has no timer; with them it has one, whatever was before', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { shed, outcomes, enter, leave } = admission({ maxInFlight: 1, maxWait: 100 });
  expect(vi.getTimerCount()).toBe(0);
  for (const turn of [0, 1]) {
    enter((place) => place.belongTo('alice'));
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(10_000);
    expect(vi.getTimerCount()).toBe(1);
    enter();
    vi.advanceTimersByTime(200);
    expect(outcomes[2 * turn + 1]).toMatchObject({ reason: 'OVERLOADED' });
    expect(shed).toHaveLength(turn + 1);
    leave(2 * turn);
    vi.advanceTimersByTime(1_500);
    expect(vi.getTimerCount()).toBe(0);
  }
});
