import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { describe, expect, test } from 'vitest';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { repairReadModel } from '../../src/audit/repair.ts';
import { createScopePolicy } from '../../src/auth/scopes.ts';
import { loadConfig } from '../../src/config.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import type { PlantRow, Store } from '../../src/log/store.ts';
import { createLogger } from '../../src/observe/logger.ts';
import { PlantsService } from '../../src/plants/service.ts';
import { Watches } from '../../src/plants/watch/watches.ts';
import { Admission } from '../../src/transport/admission/admission.ts';
import { stopping } from '../../src/transport/failure.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';
import { registerRest } from '../../src/transport/rest/rest.ts';
import { commandArbitrary } from '../support/arbitraries.ts';
import { fold, readLog } from '../support/fold.ts';
import { type Bookmark, Follower } from '../support/follower.ts';
import { ALICE } from '../support/principal.ts';
import { count } from '../support/soak.ts';
import { type OpenStore, withStore } from './open-store.ts';

/** An instance of the service as far as watches go: REST on a log, for alice without a token. */
class Instance {
  readonly log: EventLog;
  readonly #watches: Watches;
  readonly #app: FastifyInstance;
  url = '';

  private constructor(log: EventLog) {
    this.log = log;
    this.#watches = new Watches(log, { maxWatches: 100, maxOwnerWatches: 100 });
    const plants = new PlantsService(log, createScopePolicy([]), this.#watches);
    const { limits } = loadConfig({});
    const admission = new Admission(limits, () => {});
    this.#app = createHttpServer(createLogger('silent', { write() {} }), limits, { admission });
    const unused = () => Promise.reject(new Error('not part of the test'));
    registerRest(this.#app, {
      service: PlantStoreService,
      methods: { createPlant: unused, deletePlant: unused, getPlant: unused, listPlants: unused },
      watches: { listPlants: plants.watchPlants.bind(plants) },
      authenticate: () => ALICE,
    });
  }

  static async start(store: Store, recentBytes: number): Promise<Instance> {
    const instance = new Instance(await openLog(store, { onFault: () => {}, limits: { recentBytes } }));
    instance.url = await instance.#app.listen({ host: '127.0.0.1', port: 0 });
    return instance;
  }

  async stop(): Promise<void> {
    this.#watches.close(stopping());
    await this.#app.close();
    await this.log.close();
  }
}

/** Milliseconds that a follower may take to catch up. */
const PATIENCE = 20_000;

/** Numbers below `end`, again and again. */
function* cycle(end: number): Generator<number> {
  for (;;) for (let number = 0; number < end; number += 37) yield number;
}

const textOf = ({ id, name, tag }: PlantRow): [string, string] => [
  `${id}`,
  `{"id":${id},"name":${JSON.stringify(name)}${tag === undefined ? '' : `,"tag":${JSON.stringify(tag)}`}}`,
];

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      commands: fc.array(commandArbitrary, { minLength: 1, maxLength: 12 }),
      by: fc.nat(1),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pause' as const), milliseconds: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), which: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('repair' as const) }) },
);

/** Bytes of events that an instance keeps: less and more than WHOLE has. */
const [FEW, MANY] = [4_000, 10_000_000];

/** A history of one step. */
const WHOLE = {
  do: 'write' as const,
  commands: Array.from({ length: 12 }, (_, id) => ({
    ...{ type: 'AddPlant' as const, owner: 'alice', actor: 'alice' },
    plant: { id: BigInt(id), name: 'Fern', tag: undefined },
  })),
  by: 0,
};

/** What event streams have to keep, on any store. */
export function watchContract(name: string, open: OpenStore): void {
  describe(`event streams of two instances on ${name}`, () => {
    test(
      'through writes, repairs, restarts, and cuts at any byte, every client has the list of each position, and every event once',
      async () => {
        let [resets, streams, live] = [0, 0, 0];
        await fc.assert(
          fc.asyncProperty(
            fc.array(step, { minLength: 6, maxLength: 16 }),
            fc.constantFrom(FEW, MANY),
            fc.infiniteStream(fc.nat(600)),
            async (steps, remembered, random) => {
              await withStore(open)(async (opened) => {
                const instances = [
                  await Instance.start(opened.store, remembered),
                  await Instance.start(await opened.second(), remembered),
                ];
                const reader = await opened.second();
                let isOver = false;
                const next = () => random.next().value as number;
                const run = async (follower: Follower) => {
                  const kept: Bookmark[] = [];
                  while (!isOver) {
                    if (follower.bookmark !== undefined) kept.push(follower.bookmark);
                    // Now and then a client comes back that was away for long.
                    if (kept.length > 0 && next() % 5 === 0) follower.restore(kept[next() % kept.length]!);
                    await follower.follow(instances[next() % 2]!.url, next(), next() % 100);
                  }
                };
                const followers = [new Follower(), new Follower(), new Follower()];
                // A client that is away for the whole history.
                const away = new Follower();
                for (let milliseconds = 100; away.bookmark === undefined; milliseconds *= 2)
                  await away.follow(instances[0]!.url, undefined, milliseconds);
                const running = followers.map(run);
                for (const action of steps) {
                  if (action.do === 'pause') await sleep(action.milliseconds);
                  else if (action.do === 'repair') for await (const _ of repairReadModel(reader));
                  else if (action.do === 'restart') {
                    await instances[action.which]!.stop();
                    instances[action.which] = await Instance.start(await opened.second(), remembered);
                  } else {
                    const { log } = instances[action.by]!;
                    await Promise.all(
                      action.commands.map((command) =>
                        log.submit(command).catch((error) => {
                          if (!(error instanceof PlantStoreError)) throw error;
                        }),
                      ),
                    );
                  }
                }
                isOver = true;
                await Promise.all(running);
                // Only events up to the checkpoint are ever dropped from memory, which resets a client that was away.
                const { log } = instances[0]!;
                while (log.status.checkpoint < log.status.head) await sleep(5);
                followers.push(away);
                const events = await readLog(reader);
                const own = events.filter(({ event }) => event.owner === 'alice').map(({ position }) => position);
                const last = own.at(-1) ?? 0;
                const deadline = Date.now() + PATIENCE;
                const finals = followers.map((follower) => follower.follow(instances[0]!.url));
                while (followers.some(({ position }) => position < last) && Date.now() < deadline) await sleep(5);
                for (const instance of instances) await instance.stop();
                await Promise.all(finals);
                await reader.close();
                for (const follower of followers) {
                  expect(follower.position).toBeGreaterThanOrEqual(last);
                  for (const { position, plants } of follower.observations) {
                    const expected = (fold(events.slice(0, position)).get('alice') ?? []).map(textOf);
                    expect([...plants].toSorted(), `at ${position}`).toEqual(expected.toSorted());
                  }
                  for (const { from, positions } of follower.runs) {
                    const to = positions.at(-1) ?? from;
                    expect(positions).toEqual(own.filter((position) => position > from && position <= to));
                    live += positions.length;
                  }
                  resets += follower.resets;
                  streams += follower.streams;
                }
              })();
            },
          ),
          {
            numRuns: count(5, 200),
            endOnFailure: true,
            // One that has to reset the client that was away, and one that has to give it every event.
            examples: [
              [[WHOLE], FEW, fc.stream(cycle(600))],
              [[WHOLE], MANY, fc.stream(cycle(600))],
            ],
          },
        );
        // It was about something.
        expect(resets).toBeGreaterThan(0);
        expect(live).toBeGreaterThan(0);
        expect(streams).toBeGreaterThan(20);
      },
      120_000 * count(1, 20),
    );
  });
}
