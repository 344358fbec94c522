import { once } from 'node:events';
import { type AddressInfo, connect, createServer, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CLIENT_LEFT, OVERLOADED, OWNER_BUSY } from '../../src/semaphore.ts';
import { Admission, type AdmissionLimits } from '../../src/transport/admission/admission.ts';
import { Budget } from '../../src/transport/admission/budget.ts';
import { Caller, Connection } from '../../src/transport/admission/connection.ts';
import { RequestPermit } from '../../src/transport/admission/request-permit.ts';
import { Turns } from '../../src/transport/admission/turns.ts';
import { GrpcConnection } from '../../src/transport/grpc/connection.ts';
import { ReadPace } from '../../src/transport/grpc/read-pace.ts';
import { HttpConnection } from '../../src/transport/http/connection.ts';

/** A connection whose work the test gives, and on which it sees what the admission does with it. */
class TestConnection extends Connection {
  readonly protocol = 'rest';
  /** What each piece of work was told: whether it is late. */
  readonly worked: boolean[] = [];
  ended = 0;
  readonly #work: () => boolean;

  constructor(caller: Caller, work: () => boolean = () => false) {
    super(caller);
    this.#work = work;
  }

  override work(isLate: boolean): boolean {
    this.worked.push(isLate);
    return this.#work();
  }

  override end(): void {
    this.ended++;
  }
}

const nothing = () => {};

/** Connections that are read at once, as none sends much. */
const pace = new ReadPace();
afterAll(() => pace.close());

/** Milliseconds that have passed: only `spend` lets them pass, however busy the machine is. */
let passed = 0;

/** Takes time, as pieces of work do. */
const spend = (milliseconds: number): void => {
  passed += milliseconds;
};

beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => passed);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('turns', () => {
  /** Connections of a caller that always have more work, of so many milliseconds, until they are stopped. */
  function busy(turns: Turns, owner: string, connections: number, milliseconds: number) {
    const caller = new Caller(owner);
    let stopped = false;
    let pieces = 0;
    const all = Array.from(
      { length: connections },
      () =>
        new TestConnection(caller, () => {
          if (stopped) return false;
          pieces++;
          spend(milliseconds);
          return true;
        }),
    );
    for (const connection of all) turns.add(connection);
    return {
      all,
      /** Milliseconds that its work has taken. */
      time: () => pieces * milliseconds,
      stop: () => {
        stopped = true;
      },
    };
  }

  /** Stops callers, and waits until nobody waits. */
  async function end(turns: Turns, callers: readonly { stop: () => void }[]): Promise<void> {
    for (const caller of callers) caller.stop();
    while (turns.waiting > 0) await setImmediate();
  }

  test('are never at once, and come once for each time that a connection asks', async () => {
    const turns = new Turns(60_000);
    const connection = new TestConnection(new Caller('alice'));
    turns.add(connection);
    turns.add(connection);
    expect(connection.worked).toEqual([]);
    expect(turns.waiting).toBe(1);
    while (turns.waiting > 0) await setImmediate();
    expect(connection.worked).toEqual([false]);
    turns.add(connection);
    while (turns.waiting > 0) await setImmediate();
    expect(connection.worked).toHaveLength(2);
  });

  test.each([
    [0.1, 8],
    [0.4, 3],
  ])(
    'let a connection that asked 8 times work as often in one turn of the event loop as its time allows: pieces of %f ms',
    async (milliseconds, pieces) => {
      const turns = new Turns(60_000);
      let left = 8;
      const connection = new TestConnection(new Caller('alice'), () => {
        spend(milliseconds);
        return --left > 0;
      });
      for (let asked = 0; asked < left; asked++) turns.add(connection);
      await setImmediate();
      expect(connection.worked).toHaveLength(pieces);
      while (turns.waiting > 0) await setImmediate();
      expect(connection.worked).toHaveLength(8);
    },
  );

  test('are not waited for by a connection that is removed', async () => {
    const turns = new Turns(60_000);
    const caller = new Caller('alice');
    const [gone, other, moved] = [caller, caller, new Caller('')].map((first) => new TestConnection(first));
    for (const connection of [gone!, other!, moved!]) turns.add(connection);
    moved!.caller = caller;
    turns.remove(gone!);
    turns.remove(moved!);
    turns.remove(moved!);
    expect(turns.waiting).toBe(1);
    while (turns.waiting > 0) await setImmediate();
    expect([gone, other, moved].map((connection) => connection!.worked.length)).toEqual([0, 1, 0]);
    turns.add(gone!);
    while (turns.waiting > 0) await setImmediate();
    expect(gone!.worked).toHaveLength(1);
  });

  test('share the time between callers, however many connections each has and however dear its work is', async () => {
    const turns = new Turns(60_000);
    const many = busy(turns, 'mallory', 200, 0.5);
    const dear = busy(turns, 'trudy', 3, 2);
    const few = busy(turns, 'alice', 4, 0.5);
    while (few.time() < 100) await setImmediate();
    const times = [many.time(), dear.time()];
    await end(turns, [many, dear, few]);
    for (const time of times) {
      expect(time).toBeGreaterThan(60);
      expect(time).toBeLessThan(170);
    }
  });

  test('go round the connections of a caller', async () => {
    const turns = new Turns(60_000);
    const caller = busy(turns, 'alice', 10, 0.1);
    while (caller.time() < 10) await setImmediate();
    const pieces = caller.all.map(({ worked }) => worked.length);
    await end(turns, [caller]);
    expect(Math.max(...pieces) - Math.min(...pieces)).toBeLessThanOrEqual(1);
  });

  test('count what follows from a piece of work, as far as it was the next thing to be done', async () => {
    const turns = new Turns(60_000);
    let stopped = false;
    const pieces = { mallory: 0, alice: 0 };
    const work = (owner: keyof typeof pieces, after: number) => () => {
      if (stopped) return false;
      pieces[owner]++;
      spend(0.25);
      // As a handler that is called by a promise.
      if (after > 0) process.nextTick(() => spend(after));
      return true;
    };
    for (const [owner, after] of [['mallory', 1] as const, ['alice', 0] as const]) {
      const caller = new Caller(owner);
      for (let number = 0; number < 8; number++) turns.add(new TestConnection(caller, work(owner, after)));
    }
    while (pieces.alice < 400) await setImmediate();
    stopped = true;
    expect(pieces.mallory).toBeLessThan(300);
    while (turns.waiting > 0) await setImmediate();
  });

  test('come for a caller that begins while others have long worked', async () => {
    const turns = new Turns(60_000);
    const busyOnes = [busy(turns, 'mallory', 500, 0.5), busy(turns, 'trudy', 500, 0.5)];
    while (busyOnes[0]!.time() < 50) await setImmediate();
    const before = busyOnes[0]!.time() + busyOnes[1]!.time();
    const fresh = new TestConnection(new Caller(''));
    turns.add(fresh);
    while (fresh.worked.length === 0) await setImmediate();
    expect(busyOnes[0]!.time() + busyOnes[1]!.time() - before).toBeLessThan(40);
    await end(turns, busyOnes);
  });

  test('are late after maxWait, and only then', async () => {
    const turns = new Turns(40);
    const connection = new TestConnection(new Caller('alice'));
    turns.add(connection);
    spend(60);
    while (turns.waiting > 0) await setImmediate();
    turns.add(connection);
    while (turns.waiting > 0) await setImmediate();
    expect(connection.worked).toEqual([true, false]);
  });

  /**
   * How many of 200 pieces of work, each of so many milliseconds, and of so many that follow, begin in each turn of the
   * event loop.
   */
  async function perTurn(milliseconds: number, following = 0): Promise<number[]> {
    const turns = new Turns(60_000);
    const began: number[] = [];
    let loop = 0;
    for (let number = 0; number < 200; number++)
      turns.add(
        new TestConnection(new Caller(String(number)), () => {
          began.push(loop);
          spend(milliseconds);
          turns.addCost(following);
          return false;
        }),
      );
    while (turns.waiting > 0) {
      await setImmediate();
      loop++;
    }
    expect(began).toHaveLength(200);
    return [...Map.groupBy(began, (at) => at).values()].map(({ length }) => length);
  }

  test('let nothing begin once the time of a turn of the event loop is over', async () => {
    // The last turn has what is left.
    for (const count of (await perTurn(0.25)).slice(0, -1)) expect(count).toBe(4);
  });

  test('count what follows in the next turn of the event loop', async () => {
    for (const count of (await perTurn(0.25, 0.25)).slice(0, -1)) expect(count).toBe(2);
  });

  test('count what follows elsewhere for its caller', async () => {
    const turns = new Turns(60_000);
    let pieces = 0;
    let isOver = false;
    const first = new TestConnection(new Caller('alice'), () => {
      pieces++;
      spend(0.1);
      turns.addCost(0.9);
      return !isOver;
    });
    turns.add(first);
    const other = busy(turns, 'bob', 1, 1);
    while (other.time() < 20) await setImmediate();
    isOver = true;
    await end(turns, [other]);
    expect(pieces).toBeLessThan(30);
  });

  test('let one piece begin in each turn of the event loop, however long it takes', async () => {
    for (const count of await perTurn(5)) expect(count).toBe(1);
  });

  test('let new connections work beside a thousand callers, at the pace of a part of their time', async () => {
    const fresh = new Caller('');
    const turns = new Turns(60_000, [fresh]);
    const callers = Array.from({ length: 1_000 }, (_, owner) => busy(turns, String(owner), 1, 0.5));
    const timeOfAll = () => callers.reduce((sum, { time }) => sum + time(), 0);
    while (timeOfAll() < 1_000) await setImmediate();
    const before = timeOfAll();
    const read = () => {
      spend(0.25);
      return false;
    };
    const news = Array.from({ length: 40 }, () => new TestConnection(fresh, read));
    for (const connection of news) turns.add(connection);
    while (news.some(({ worked }) => worked.length === 0)) await setImmediate();
    // Theirs are 10 ms, a quarter of 40.
    expect(timeOfAll() - before).toBeLessThan(60);
    expect(timeOfAll() - before).toBeGreaterThan(20);
    await end(turns, callers);
  });

  test('pass over nobody when a caller of another name has got a connection that waits', async () => {
    const turns = new Turns(60_000);
    const [unknown, alice] = [new Caller(''), new Caller('alice')];
    const all = Array.from({ length: 4 }, () => new TestConnection(unknown));
    for (const connection of all) turns.add(connection);
    // As when its token is verified.
    all[1]!.caller = alice;
    turns.add(new TestConnection(alice));
    while (turns.waiting > 0) await setImmediate();
    expect(all.map(({ worked }) => worked.length)).toEqual([1, 1, 1, 1]);
  });
});

describe('places', () => {
  function scene(maximum: number) {
    let ended = 0;
    const places = new Budget('http', maximum, () => ended++);
    const open = (caller: Caller) => {
      const connection = new TestConnection(caller);
      places.add(connection, 1);
      return connection;
    };
    return { places, open, ended: () => ended };
  }
  const endsOf = (connections: readonly TestConnection[]) => connections.map(({ ended }) => ended);

  test('beyond the bound, the caller that has most loses its oldest connection, whoever comes', async () => {
    const { open, ended } = scene(6);
    const [mallory, alice, bob] = [new Caller('mallory'), new Caller('alice'), new Caller('bob')];
    const others = [open(alice), open(bob)];
    const many = Array.from({ length: 4 }, () => open(mallory));
    expect(ended()).toBe(0);
    others.push(open(alice), open(bob));
    expect([endsOf(others), endsOf(many)]).toEqual([
      [0, 0, 0, 0],
      [1, 1, 0, 0],
    ]);
    await setImmediate();
    many.push(open(mallory), open(mallory));
    expect(endsOf(others)).toEqual([0, 0, 0, 0]);
    expect(ended()).toBe(4);
  });

  test('when nobody has more than one, nobody else gets in', () => {
    const { open } = scene(3);
    const [first, ...more] = Array.from({ length: 4 }, (_, index) => open(new Caller(String(index))));
    expect([first!.ended, ...endsOf(more)]).toEqual([0, 0, 0, 1]);
  });
});

describe('held memory', () => {
  function scene(limit: number) {
    const ended: Connection[] = [];
    const memory = new Budget('memory', limit, (connection) => ended.push(connection));
    const hold = (caller: Caller, bytes: number) => {
      const connection = new TestConnection(caller);
      memory.add(connection, bytes);
      return connection;
    };
    return { memory, ended, hold };
  }

  test('beyond the limit, the largest connections of the caller that holds most go, and others stay', () => {
    const { memory, ended, hold } = scene(1_000);
    const [mallory, alice] = [new Caller('mallory'), new Caller('alice')];
    const own = [hold(alice, 100), hold(alice, 250)];
    const [small, largest, large] = [hold(mallory, 50), hold(mallory, 300), hold(mallory, 200)];
    expect(ended).toEqual([]);
    const last = hold(mallory, 150);
    expect(ended).toEqual([largest]);
    expect([own, small, large, last].flat().map((connection) => connection.ended)).toEqual([0, 0, 0, 0, 0]);
    expect(largest.ended).toBe(1);
    expect([memory.taken, mallory.takes.memory, alice.takes.memory]).toEqual([750, 400, 350]);
  });

  test('goes on with the next caller when one holds nothing more', () => {
    const { memory, ended, hold } = scene(1_000);
    const callers = Array.from({ length: 4 }, (_, index) => new Caller(String(index)));
    const all = callers.map((caller, index) => hold(caller, 240 + index));
    memory.set(all[0]!, 400);
    // 1,126 bytes: without the first 726.
    expect(ended).toEqual([all[0]]);
    const others = Array.from({ length: 3 }, () => hold(new Caller('more'), 200));
    // 1,126 again with the second of them: without the fourth 883, and without the third 641.
    expect(ended).toEqual([all[0], all[3], all[2]]);
    expect(memory.taken).toBe(841);
    for (const connection of [all[1]!, ...others]) expect(connection.ended).toBe(0);
  });

  test('in a burst, none goes that has become small, or whose caller has changed', () => {
    const { memory, ended, hold } = scene(1_000);
    const [unknown, alice] = [new Caller(''), new Caller('alice')];
    const all = Array.from({ length: 11 }, () => hold(unknown, 100));
    expect(ended).toHaveLength(1);
    const [small, moved] = all.slice(-2);
    memory.set(small!, 10);
    moved!.moveTo(alice);
    for (let count = 0; count < 8; count++) hold(unknown, 100);
    expect(ended.length).toBeGreaterThan(5);
    expect([small!.ended, moved!.ended]).toEqual([0, 0]);
  });

  test('of many connections of a size, few go at a time', () => {
    const { memory, ended, hold } = scene(10_000);
    const mallory = new Caller('mallory');
    for (let count = 0; count < 1_001; count++) hold(mallory, 10);
    expect(ended.length).toBeGreaterThan(0);
    expect(ended.length).toBeLessThanOrEqual(30);
    expect(memory.taken).toBeLessThanOrEqual(10_000);
  });

  test('a connection that was ended and still counts what comes on it does no harm', () => {
    const { memory, hold } = scene(1_000);
    const mallory = new Caller('mallory');
    const all = Array.from({ length: 12 }, () => hold(mallory, 100));
    const gone = all.filter(({ ended }) => ended > 0);
    expect(gone.length).toBeGreaterThan(0);
    const { taken } = memory;
    for (const connection of gone) memory.set(connection, 5_000);
    expect(memory.taken).toBe(taken);
    for (const connection of gone) expect(connection.ended).toBe(1);
    hold(mallory, 400);
    expect(memory.taken).toBeLessThanOrEqual(1_000);
  });
});

describe('over gRPC', () => {
  const limits = { maxInFlight: 1_000, maxWait: 60_000, requestMemory: 1_000_000 };
  test('one connection is first read in a turn of the event loop, however little that costs the turn', async () => {
    const admission = new Admission(limits, () => {});
    let served = 0;
    for (let number = 0; number < 5; number++) new GrpcConnection(new Socket(), admission, pace, () => served++);
    for (const turn of [1, 2, 3, 4, 5]) {
      await setImmediate();
      expect(served).toBe(turn);
    }
  });

  test('a client that leaves before its turn is known to have left, and nothing is made for it', async () => {
    const admission = new Admission(limits, () => {});
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, 'connection');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.write('PRI * HTTP/2.0');
    const [socket] = (await accepted) as [Socket];
    let served = 0;
    for (let number = 0; number < 1_000; number++) new GrpcConnection(new Socket(), admission, pace, nothing);
    new GrpcConnection(socket, admission, pace, () => served++);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    client.end();
    await closed;
    expect(admission.turns.waiting).toBeGreaterThan(0);
    while (admission.turns.waiting > 0) await setImmediate();
    expect(served).toBe(0);
    server.close();
  });

  test('one that has to wait is stopped each time: Node reads on once it has written', async () => {
    const admission = new Admission(limits, () => {});
    let isReading = true;
    const handle = { bytesRead: 0, readStop: () => (isReading = false), readStart: () => (isReading = true) };
    const connection = new GrpcConnection(Object.assign(new Socket(), { _handle: handle }), admission, pace, nothing);
    while (admission.turns.waiting > 0) await setImmediate();
    for (const _ of [1, 2]) {
      isReading = true;
      connection.pause();
      expect(isReading).toBe(false);
    }
  });

  test('a turn of the event loop has so few calls that what Node does for them beside it has an end too', async () => {
    const admission = new Admission(limits, () => {});
    const connection = new GrpcConnection(new Socket(), admission, pace, nothing);
    await setImmediate();
    let begun = 0;
    for (let number = 0; number < 100; number++) connection.add({ since: 0, isProbe: false, begin: () => begun++ });
    await setImmediate();
    expect(begun).toBeGreaterThan(16);
    expect(begun).toBeLessThan(50);
    while (admission.turns.waiting > 0) await setImmediate();
    expect(begun).toBe(100);
  });

  test('connections that close while a token is verified take none of those whose TLS does not count', async () => {
    const admission = new Admission({ ...limits, requestMemory: 100_000_000 }, nothing);
    const opened = () => {
      const socket = new TLSSocket(new Socket());
      return { socket, connection: new GrpcConnection(socket, admission, pace, nothing) };
    };
    opened().connection.verified('alice');
    for (let closed = 0; closed < 20; closed++) {
      const { socket, connection } = opened();
      socket.destroy();
      await once(socket, 'close');
      connection.verified('alice');
    }
    const before = admission.held;
    opened().connection.verified('alice');
    expect(admission.held).toBe(before);
  });

  test('calls of a connection that is closed wait for no turn', async () => {
    const admission = new Admission(limits, () => {});
    const closing = new Socket();
    const connection = new GrpcConnection(closing, admission, pace, nothing);
    await setImmediate();
    let begun = 0;
    for (let number = 0; number < 100; number++) connection.add({ since: 0, isProbe: false, begin: () => begun++ });
    closing.emit('close');
    expect(admission.turns.waiting).toBe(0);
    await setImmediate();
    expect(begun).toBe(0);
  });
});

test('a connection of any protocol that is closed before its first turn is forgotten', () => {
  const admission = new Admission({ maxInFlight: 1_000, maxWait: 60_000, requestMemory: 1_000_000 }, () => {});
  const sockets = [new Socket(), new Socket().on('data', () => {}).on('end', () => {})] as const;
  new GrpcConnection(sockets[0], admission, pace, nothing);
  new HttpConnection(sockets[1], admission);
  expect(admission.turns.waiting).toBe(2);
  for (const socket of sockets) socket.emit('close');
  expect(admission.turns.waiting).toBe(0);
});

describe('an admission', () => {
  function scene(limits: Partial<AdmissionLimits>) {
    const shed: string[] = [];
    const admission = new Admission(
      { maxInFlight: 1_000, maxWait: 60_000, requestMemory: 1_000, ...limits },
      (protocol, reason) => shed.push(`${protocol} ${reason}`),
    );
    return { admission, shed };
  }

  test('of a connection of several owners, hardly more than its own work counts for each', async () => {
    const { admission } = scene({});
    const { turns } = admission;
    let stopped = false;
    const pieces = { mallory: 0, alice: 0, bob: 0, carol: 0 };
    const open = (next: () => keyof typeof pieces) => {
      const connection: TestConnection = new TestConnection(admission.fresh.http, () => {
        if (stopped) return false;
        const owner = next();
        admission.verified(connection, owner);
        pieces[owner]++;
        spend(0.25);
        return true;
      });
      admission.opened(connection);
      turns.add(connection);
    };
    // A proxy has two connections for mallory, who sends much, and for alice, who also has connections of her own.
    let calls = 0;
    for (let count = 0; count < 2; count++) open(() => (calls++ % 20 === 0 ? 'alice' : 'mallory'));
    for (const owner of ['alice', 'bob', 'carol'] as const) for (let count = 0; count < 4; count++) open(() => owner);
    while (pieces.carol < 400) await setImmediate();
    stopped = true;
    while (turns.waiting > 0) await setImmediate();
    expect(pieces.alice).toBeGreaterThan(0.75 * pieces.bob);
    expect(pieces.mallory).toBeLessThan(1.25 * pieces.bob);
  });

  test('refuses what waits for too long, by what it waited for', async () => {
    const { admission, shed } = scene({ maxInFlight: 4, maxWait: 20 });
    for (const owner of ['alice', 'bob', 'carol']) admission.permit(owner, 'rest');
    await expect(admission.permit('carol', 'connect')).rejects.toBe(OWNER_BUSY);
    admission.permit('dave', 'rest');
    await expect(admission.permit('erin', 'grpc')).rejects.toBe(OVERLOADED);
    expect(shed).toEqual(['connect owner', 'grpc in_flight']);
    expect([admission.inFlight, admission.waiting]).toEqual([4, 0]);
  });

  test('gives no permit to a request that is over, which would never give it back', () => {
    const { admission } = scene({});
    const permit = new RequestPermit();
    permit.end();
    expect(() => permit.take(admission, 'alice', 'rest')).toThrow(CLIENT_LEFT);
    expect(admission.inFlight).toBe(0);
  });

  test('refuses what an owner sends beyond its rate, once the connection counts for it', () => {
    const { admission } = scene({ rateLimit: 1 });
    const connection = new TestConnection(admission.fresh.http);
    admission.opened(connection);
    admission.verified(connection, 'alice');
    admission.verified(connection, 'bob');
    const again = () => admission.verified(connection, 'alice');
    expect(again).toThrow(expect.objectContaining({ reason: 'RATE_LIMITED' }));
    expect(connection.caller.owner).toBe('alice');
  });

  test('forgets an owner whose connection has closed while the token was verified', () => {
    const { admission } = scene({});
    const [closed, next, other] = Array.from({ length: 3 }, () => {
      const connection = new TestConnection(admission.fresh.http);
      admission.opened(connection);
      return connection;
    }) as [TestConnection, TestConnection, TestConnection];
    admission.closed(closed);
    admission.verified(closed, 'alice');
    for (const connection of [next, other]) admission.verified(connection, 'alice');
    expect(next.caller).not.toBe(closed.caller);
    expect(next.caller).toBe(other.caller);
  });

  test('tells of what is late, and of connections that hold too much', () => {
    const { admission, shed } = scene({});
    expect(admission.late('grpc_web')).toBe(OVERLOADED);
    const connection = new TestConnection(admission.fresh.http);
    admission.opened(connection);
    admission.memory.set(connection, 1_001);
    expect(connection.ended).toBe(1);
    expect(shed).toEqual(['grpc_web cpu', 'rest memory']);
  });

  test('counts connections as one caller until a token is verified on them, and then as its owner', () => {
    const { admission } = scene({ requestMemory: 1_000_000 });
    const all = Array.from({ length: 3 }, () => new TestConnection(admission.fresh.http));
    for (const connection of all) {
      admission.opened(connection);
      admission.begins(connection);
      admission.memory.set(connection, 100);
    }
    expect(admission.unverified.takes.memory).toBe(300);
    admission.verified(all[0]!, 'alice');
    admission.verified(all[1]!, 'alice');
    expect(all[0]!.caller).toBe(all[1]!.caller);
    expect([admission.unverified.takes.memory, all[0]!.caller.takes.memory]).toEqual([100, 200]);
    // Another token on the same connection.
    admission.verified(all[1]!, 'bob');
    admission.begins(all[1]!);
    expect([all[0]!.caller.takes.memory, all[1]!.caller.takes.memory, admission.held]).toEqual([100, 100, 300]);
  });
});
