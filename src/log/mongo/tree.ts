import { Binary, type Db, Long } from 'mongodb';
import { storedHash, type TreeNodes } from '../tree/nodes.ts';
import { collectionsOf } from './collections.ts';
import { withCallLimit } from './connection/call-limit.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { COMMAND_LIMIT } from './connection/client.ts';

/**
 * The nodes of the tree in their collection. Nodes are written in order, so a prefix remains whatever a failover loses.
 */
export class MongoTree implements TreeNodes {
  readonly #nodes;
  readonly #clock: CausalClock;

  constructor(db: Db, clock: CausalClock) {
    this.#nodes = collectionsOf(db).tree;
    this.#clock = clock;
  }

  async count(level: number): Promise<number> {
    const last = await this.#clock.run((session) =>
      this.#nodes.findOne(range(level, 0), { session, sort: { _id: -1 }, maxTimeMS: COMMAND_LIMIT }),
    );
    return last === null ? 0 : Number(last._id.node) + 1;
  }

  async read(level: number, start: number, end: number): Promise<Uint8Array[]> {
    const limit = end - start;
    const found = await this.#clock.run((session) =>
      this.#nodes
        .find(range(level, start, end), { session, maxTimeMS: COMMAND_LIMIT })
        .sort({ _id: 1 })
        .limit(limit)
        .batchSize(limit + 1)
        .toArray(),
    );
    const gap = found.findIndex(({ _id }, at) => Number(_id.node) !== start + at);
    return found.slice(0, gap < 0 ? found.length : gap).map(({ hash }, at) => hashOf(level, start + at, hash));
  }

  async write(level: number, start: number, nodes: readonly Uint8Array[]): Promise<void> {
    if (nodes.length === 0) return;
    await withCallLimit(
      this.#nodes.bulkWrite(
        nodes.map((hash, at) => ({
          updateOne: {
            filter: { _id: idOf(level, start + at) },
            update: { $set: { hash: new Binary(hash) } },
            upsert: true,
          },
        })),
        { ordered: true },
      ),
    );
  }

  async truncate(level: number, count: number): Promise<void> {
    await withCallLimit(this.#nodes.deleteMany(range(level, count)));
  }
}

const hashOf = (level: number, node: number, hash: unknown): Uint8Array =>
  storedHash(level, node, hash instanceof Binary ? Uint8Array.from(hash.value()) : undefined);

const idOf = (level: number, node: number) => ({ level, node: Long.fromNumber(node) });

const range = (level: number, start: number, end = Number.MAX_SAFE_INTEGER) => ({
  _id: { $gte: idOf(level, start), $lt: idOf(level, end) },
});
