import { setTimeout as sleep } from 'node:timers/promises';
import { adminCommand, Mongod } from './mongod.ts';
import { findMongod } from './mongod-binary.ts';

const NAME = 'plantstore-test';
/** MongoDB's error code. */
const EXCEEDED_TIME_LIMIT = 262;

/**
 * Fast failovers (milliseconds), and all secondaries replicate from the primary, so that a test controls which member
 * has which data.
 */
const SETTINGS = { electionTimeoutMillis: 1_500, heartbeatIntervalMillis: 300, chainingAllowed: false };

/** A replica set of real servers on this machine. */
export class ReplicaSet {
  readonly members: readonly Mongod[];

  private constructor(members: readonly Mongod[]) {
    this.members = members;
  }

  /** Starts a replica set. Resolves when it has a primary, and all other members have copied its data. */
  static async start(members: number, ...args: string[]): Promise<ReplicaSet> {
    const binary = await findMongod();
    const start = () => Mongod.start(binary, '--replSet', NAME, ...args);
    const set = new ReplicaSet(await Promise.all(Array.from({ length: members }, start)));
    try {
      const config = {
        _id: NAME,
        members: set.members.map(({ address }, _id) => ({ _id, host: address })),
        settings: SETTINGS,
      };
      await set.members[0]!.command({ replSetInitiate: config });
      await set.primary();
      for (const member of set.members) await untilReady(member);
    } catch (error) {
      await set.remove();
      throw error;
    }
    return set;
  }

  /** URI of a database in the set. */
  uri(database: string): string {
    return `mongodb://${this.members.map(({ address }) => address).join(',')}/${database}?replicaSet=${NAME}`;
  }

  /**
   * The primary among the given members. Waits for one. The last elected wins, because a deposed one may not know it
   * yet.
   */
  async primary(among: readonly Mongod[] = this.members): Promise<Mongod> {
    for (let attempt = 0; attempt < 600; attempt++) {
      let [election, primary]: [string, Mongod | undefined] = ['', undefined];
      for (const member of among) {
        const hello = await member.command({ hello: 1 }).catch(() => undefined);
        if (hello?.isWritablePrimary !== true || `${hello.electionId}` < election) continue;
        [election, primary] = [`${hello.electionId}`, member];
      }
      if (primary !== undefined) return primary;
      await sleep(50);
    }
    throw new Error('the replica set has no primary');
  }

  /** Makes the primary step down, as for maintenance. Tries again when no secondary has caught up in time. */
  async stepDown(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await (await this.primary()).command({ replSetStepDown: 5, secondaryCatchUpPeriodSecs: 4 });
        return;
      } catch (error) {
        const { code, message } = error as { code?: number; message?: string };
        const isBehind = code === EXCEEDED_TIME_LIMIT || /no electable secondaries/i.test(`${message}`);
        if (!isBehind || attempt === 5) throw error;
      }
    }
  }

  /** Runs a command on the admin database of the primary. */
  command(command: Record<string, unknown>): Promise<Record<string, unknown>> {
    return adminCommand(this.uri('admin'), command);
  }

  /** Stops all members and removes their data. */
  async remove(): Promise<void> {
    await Promise.all(this.members.map((member) => member.remove()));
  }
}

/** Stops a member from fetching what its primary writes, or lets it go on. */
export const fetches = (member: Mongod, on: boolean): Promise<unknown> =>
  member.command({ configureFailPoint: 'stopReplProducer', mode: on ? 'off' : 'alwaysOn' });

async function untilReady(member: Mongod): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const { isWritablePrimary, secondary } = await member.command({ hello: 1 });
    if (isWritablePrimary === true || secondary === true) return;
    await sleep(50);
  }
  throw new Error(`${member.address} does not become a secondary`);
}
