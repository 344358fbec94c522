import { partitioner } from './client.ts';

/**
 * Finds the number of partitions over which a topic's keys are distributed. Each record rules out the numbers that
 * would put its key into another partition. Any remaining number keeps every known plant in its partition, so its
 * events stay in order. The largest remaining number wins: the topic had that many partitions when the events were
 * published, or has got them since.
 */
export class Spread {
  #left: readonly { readonly partitions: number; readonly partitionOf: (key: string) => number }[];

  /** `partitions`: the topic's current number, which never decreases. */
  constructor(partitions: number) {
    this.#left = Array.from({ length: partitions }, (_, index) => {
      const count = partitions - index;
      return { partitions: count, partitionOf: partitioner(count) };
    });
  }

  /** Takes a record into account. */
  take(partition: number, key: string): void {
    if (this.#left.every(({ partitionOf }) => partitionOf(key) === partition)) return;
    this.#left = this.#left.filter(({ partitionOf }) => partitionOf(key) === partition);
  }

  /** The number; undefined if no number matches every record. */
  get partitions(): number | undefined {
    return this.#left[0]?.partitions;
  }
}
