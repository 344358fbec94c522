import { partitioner } from './client.ts';

/**
 * Over how many partitions a topic's keys are spread, as far as its records tell: a number is ruled out by any record that it would
 * have put into another partition. What is left puts every plant that has events on the topic where those events are, so that
 * none of them is overtaken. Of several the most are taken, which the topic had when they were published or has got since.
 */
export class Spread {
  #left: readonly { readonly partitions: number; readonly partitionOf: (key: string) => number }[];

  /** `partitions`: what the topic has today. It never gets fewer. */
  constructor(partitions: number) {
    this.#left = Array.from({ length: partitions }, (_, index) => {
      const count = partitions - index;
      return { partitions: count, partitionOf: partitioner(count) };
    });
  }

  /** Takes a record. */
  take(partition: number, key: string): void {
    if (this.#left.every(({ partitionOf }) => partitionOf(key) === partition)) return;
    this.#left = this.#left.filter(({ partitionOf }) => partitionOf(key) === partition);
  }

  /** The number; undefined where no number puts every record where it is. */
  get partitions(): number | undefined {
    return this.#left[0]?.partitions;
  }
}
