import { decodeExport, FORMATS } from '../../../src/audit/formats/formats.ts';
import { importLog } from '../../../src/audit/import.ts';
import { repairReadModel } from '../../../src/audit/repair.ts';
import { ErasedMeanwhileError, exportedEvents } from '../../../src/audit/steady.ts';
import { type Verdict, verifyLog } from '../../../src/audit/verify.ts';
import type { Erased, EraseRequest } from '../../../src/log/erasure/eraser.ts';
import { KEY_BYTES } from '../../../src/log/event/event.ts';
import { type EventLog, openLog } from '../../../src/log/log.ts';
import type { Store } from '../../../src/log/store.ts';
import { pause } from '../../../src/time/pause.ts';
import { type Instance, SIZES } from '../instance.ts';
import { judgeErased } from '../judges/erasure.ts';
import { judgeMove } from '../judges/move.ts';
import { judgeVerdict } from '../judges/verdict.ts';
import { EPOCH, type Process } from '../machine/process.ts';
import { atOnce, Database } from '../store/database.ts';
import { MemoryStore } from '../store/memory-store.ts';
import type { World } from '../world.ts';

/** Runs a command of an operator in a process of its own, to its end. */
export function run(world: World, what: string, work: (store: Store) => Promise<string>): void {
  const process = world.process(what);
  world.operators.add(process);
  process.do(async () => {
    const store = new MemoryStore(world.server.database, world.server.connection(process, what), SIZES);
    try {
      world.tell(process.name, await work(store));
    } catch (error) {
      world.tell(process.name, `fails: ${(error as Error).message}`);
    } finally {
      world.operators.delete(process);
    }
  });
}

/** `plantstore audit rebuild`. */
export function rebuild(world: World): void {
  world.rebuilds++;
  run(world, `rebuild-${world.rebuilds}`, async (store) => {
    const began = world.scheduler.now;
    for await (const _ of repairReadModel(store));
    world.repaired(began);
    return 'the read model is repaired';
  });
}

/** `plantstore audit verify`. */
export function verify(world: World): void {
  // A verification finds names that no transport would have let through.
  if (world.plan.longNames) return;
  run(world, `verify-${++world.verifications}`, async (store) => {
    let verdict: Verdict | undefined;
    const options = { checkpoint: world.truth.checkpoint() };
    for await (const step of verifyLog(store, options)) if ('ok' in step) verdict = step;
    world.judge(() => judgeVerdict(verdict!, world.erasures > 0));
    return `the log is ${verdict!.ok ? '' : 'not '}whole`;
  });
}

/** `plantstore erase`. */
export function eraseByCommand(world: World, request: EraseRequest): void {
  run(world, request.actor, async (store) => {
    const log = await openLog(store, { limits: { knownOwners: 1 }, onFault: () => {} });
    try {
      return await erase(world, log, request);
    } finally {
      await log.close();
    }
  });
}

/** ErasureService.EraseOwner of an instance. */
export function eraseBy(world: World, { process, service }: Instance, request: EraseRequest): void {
  if (service === undefined) return;
  world.call(process, async () => {
    try {
      world.tell(process.name, await erase(world, service.log, request, process));
    } catch (error) {
      world.tell(process.name, `${request.actor} fails: ${(error as Error).message}`);
    }
  });
}

/** The request of somebody who has erased nobody yet. */
export function newEraser(world: World, owner: string): EraseRequest {
  const actor = `eraser-${++world.erasures}`;
  world.lastEraser = { owner, actor, key: Buffer.from(actor.padEnd(KEY_BYTES)) };
  return world.lastEraser;
}

async function erase(world: World, log: EventLog, request: EraseRequest, process?: Process): Promise<string> {
  const { owner, actor } = request;
  const { from } = process === undefined ? { from: world.commands.known } : world.freshness.of(process);
  let erased: Erased | undefined;
  for await (const step of log.erase(request)) if (!('step' in step)) erased = step;
  world.judge(() => judgeErased(world.truth, world.server.database.committed, owner, erased!, from));
  if (erased?.position !== undefined) world.commands.erased.set(owner, erased.position);
  return `${actor} erased ${owner} at ${erased?.position}`;
}

/** `plantstore audit export`, and `audit import` into a new store. */
export function move(world: World): void {
  // An import refuses names that no transport would have let through.
  if (world.plan.longNames) return;
  run(world, `move-${++world.moves}`, async (store) => {
    const parts: Buffer[] = [];
    try {
      const { position } = await store.head();
      await pause(world.random.scaled(0.01, 3_000));
      for await (const events of exportedEvents(store, 0, position))
        parts.push(Buffer.from(FORMATS.ndjson.encode(events)));
    } catch (error) {
      if (!(error instanceof ErasedMeanwhileError)) throw error;
      return 'the export has to be made again';
    }
    const database = new Database('1'.repeat(32), () => EPOCH);
    let fault: unknown;
    const bytes = (async function* () {
      yield Buffer.concat(parts);
    })();
    try {
      const imported = new MemoryStore(database, atOnce(database));
      for await (const _ of importLog(imported, decodeExport(bytes)));
    } catch (error) {
      fault = error;
    }
    world.judge(() => judgeMove(world.truth, database.committed, fault));
    return 'the log is imported';
  });
}
