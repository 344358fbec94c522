import { createHash } from 'node:crypto';

/**
 * How unevenly owners load partitions that are chosen by a hash of the owner, by Zipf's law for the owners' activity:
 * prints what the busiest partition and the busiest owner have, as multiples of a partition's fair share. No database:
 * the arithmetic behind docs/scale.md.
 */
const OWNERS = 1_000_000;
const PARTITIONS = [16, 64, 256];
/** Zipf's exponents: 0 is all alike, 1 is what the popularity of web pages shows. */
const SKEWS = [0, 0.8, 1];

const hashes = Uint32Array.from({ length: OWNERS }, (_, owner) =>
  createHash('sha256').update(`owner ${owner}`).digest().readUInt32BE(),
);

for (const skew of SKEWS) {
  const weights = Float64Array.from({ length: OWNERS }, (_, rank) => 1 / (rank + 1) ** skew);
  const total = weights.reduce((sum, weight) => sum + weight);
  for (const partitions of PARTITIONS) {
    const loads = new Float64Array(partitions);
    for (const [owner, weight] of weights.entries()) loads[hashes[owner]! % partitions]! += weight;
    const share = total / partitions;
    const [busiest, owner] = [Math.max(...loads) / share, weights[0]! / share];
    console.log(
      `exponent ${skew}, ${`${partitions}`.padStart(3)} partitions: busiest partition ${busiest.toFixed(2)}, busiest owner alone ${owner.toFixed(2)}`,
    );
  }
}
