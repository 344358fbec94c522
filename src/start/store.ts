import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { repairReadModel } from '../audit/repair.ts';
import type { Config } from '../config.ts';
import { isOfService, OTHERS, OWN_FOLDER_ADVICE, ROOT } from '../files.ts';
import { UnsuitableDatabaseError } from '../log/mongo/connection/requirements.ts';
import { type OpenedLog, openWhenReachable, type StoreToOpen } from '../log/open.ts';
import { refuseForeignWal } from '../log/sqlite/connection.ts';
import { aboutStore, isDamage } from '../log/sqlite/damage.ts';
import { lockDataDirectory } from '../log/sqlite/lock.ts';
import { DATABASE_FILE, openSqlite } from '../log/sqlite/store.ts';
import { upgradeSqlite } from '../log/sqlite/upgrade.ts';
import { DamagedStoreError, LogReplacedError } from '../log/store.ts';
import { reportUpgrade } from '../log/upgrade.ts';
import type { Logger } from '../observe/logger.ts';
import { sparing } from '../observe/sparing.ts';
import type { StoreState } from '../observe/store-state.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import { whyNotTheSignedLog } from '../transparency/signed-checkpoint.ts';
import { logGauges } from './gauges.ts';

/**
 * Opens the store that the settings name, and its log. Waits for a store that cannot be reached, until `opened` is
 * disposed of. `telemetry.store` has the store's fault meanwhile, and whenever the store is lost later. Rejects for a
 * log without events where another was signed.
 */
export async function openStore(
  config: Config,
  logger: Logger,
  telemetry: Telemetry,
  opened: AsyncDisposableStack,
): Promise<OpenedLog> {
  const state = telemetry.store;
  const stopped = new AbortController();
  opened.defer(async () => stopped.abort());
  const began = performance.now();
  const waits = sparing((fault) => {
    const waited = Math.round((performance.now() - began) / 1_000);
    logger.error({ ...fault, waited }, 'waiting for the store');
  });
  const { store, log } = await openWhenReachable(
    storeOf(config, opened, stopped.signal),
    {
      limits: {
        queue: config.limits.maxQueuedCommands,
        lists: config.limits.maxLongLists,
        tailBytes: config.memory.tail,
        recentBytes: config.memory.recentEvents,
        listBytes: config.memory.lists,
      },
      onFault(fault) {
        if (isDamage(fault) && state.damage === undefined) {
          state.damage = new DamagedStoreError(join(config.dataDirectory, DATABASE_FILE), fault);
          logger.error({ err: state.damage }, 'the database is damaged');
        }
        telemetry.storeFault(fault);
      },
      onReadModel: (fault) => {
        if (fault === undefined) logger.info('the read model can be used again');
        else logger.error({ err: fault }, 'the read model cannot be used');
        state.readModelFault = fault;
      },
      publishes: config.kafka !== undefined,
      observer: telemetry.log,
      onReachable: (fault) => {
        if (fault === undefined) logger.info('the store can be reached');
        else if (fault instanceof LogReplacedError) logger.fatal({ err: fault }, 'the log was replaced');
        else logger.error({ err: fault }, 'the store cannot be reached');
        state.fault = fault;
      },
    },
    stopped.signal,
    (fault) => {
      waits(fault);
      state.fault = fault;
    },
  ).catch((error) => {
    throw aboutStore(join(config.dataDirectory, DATABASE_FILE), error);
  });
  opened.defer(() => log.close());
  const other = await whyNotTheSignedLog(config.dataDirectory, store.name, log.status.head);
  // Its writes would be found nowhere again.
  if (other !== undefined) throw new Error(other);
  state.fault = undefined;
  state.isOpen = true;
  void tellOpened(logger, state, { store, log });
  logGauges(telemetry.metrics, log);
  return { store, log };
}

/** Says which log was opened, and where: a wrong DATA_DIR or MONGODB_URI opens another, or begins a new one. */
async function tellOpened(logger: Logger, state: StoreState, { store, log }: OpenedLog): Promise<void> {
  try {
    state.log = await store.logId();
    const { position, hash } = await log.head();
    const opened = { store: store.name, log: state.log, position };
    if (position === 0) logger.info(opened, 'the log is open; it is new, and has no events');
    else logger.info({ ...opened, hash: Buffer.from(hash).toString('hex') }, 'the log is open');
  } catch {
    // Who needs the head or the id meets the same fault, and tells it.
  }
}

/** The store of the settings: MongoDB, whose driver is loaded only then, or SQLite, locked and first upgraded. */
function storeOf(
  { mongodbUri, strictReads, dataDirectory }: Config,
  opened: AsyncDisposableStack,
  stopped: AbortSignal,
): StoreToOpen {
  if (mongodbUri !== undefined)
    return {
      open: async () => {
        const { openMongo } = await import('../log/mongo/store.ts');
        return openMongo(mongodbUri, { strictReads });
      },
      isFinal: (error) => error instanceof UnsuitableDatabaseError,
    };
  const unlock = lockDataDirectory(dataDirectory);
  opened.defer(async () => unlock());
  refuseForeignWal(join(dataDirectory, DATABASE_FILE));
  return {
    open: async () => {
      await reportUpgrade(upgradeSqlite(dataDirectory, repairReadModel), console.error, stopped);
      return openSqlite(dataDirectory, { alone: true });
    },
    isFinal: () => true,
  };
}

/**
 * Keeps other users out of an existing data directory: closes it to them if this user owns it, and throws with one line
 * if somebody else does, because its owner can replace what is in it: the log, keys, the last signed checkpoint. A
 * directory of root stays as it is, since volumes of containers are root's, and so does one that others use, such as
 * /var; the files in it are private anyway.
 */
export function keepOthersOut(path: string, logger: Pick<Logger, 'warn'>): void {
  const user = process.getuid?.();
  const found = statSync(path, { throwIfNoEntry: false });
  // What is no directory is told by whoever needs one. Windows has no user ids.
  if (user === undefined || found?.isDirectory() !== true) return;
  const { uid, mode } = found;
  if (uid !== user && uid !== ROOT)
    throw new Error(
      `DATA_DIR ${path} belongs to user ${uid}, who can replace its files, but the service runs as user ${user}: change its owner, or set DATA_DIR to a folder of this user`,
    );
  if ((mode & OTHERS) === 0) return;
  const about = { folder: path, mode: (mode & 0o7777).toString(8) };
  if (uid === user && isOfService(path)) {
    chmodSync(path, 0o700);
    logger.warn(about, 'DATA_DIR was accessible to other users: its mode is now 700');
  } else logger.warn(about, `DATA_DIR is accessible to other users, who can replace its files: ${OWN_FOLDER_ADVICE}`);
}
