/**
 * Most events or plants in a message. Even the largest ones then stay below 4 MiB, the default limit of gRPC clients.
 */
const PER_MESSAGE = 200;

/** Splits a batch into parts of one message each. At least one part, which may be empty. */
export function partsOf<Item>(batch: readonly Item[]): readonly (readonly Item[])[] {
  if (batch.length <= PER_MESSAGE) return [batch];
  return Array.from({ length: Math.ceil(batch.length / PER_MESSAGE) }, (_, index) =>
    batch.slice(index * PER_MESSAGE, (index + 1) * PER_MESSAGE),
  );
}
