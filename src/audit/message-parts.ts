/** Most events or plants in a message: the largest that there can be stay below the 4 MiB that gRPC clients take. */
const PER_MESSAGE = 200;

/** Cuts a batch into what goes into one message each: at least one part, if only an empty one. */
export function partsOf<Item>(batch: readonly Item[]): readonly (readonly Item[])[] {
  if (batch.length <= PER_MESSAGE) return [batch];
  return Array.from({ length: Math.ceil(batch.length / PER_MESSAGE) }, (_, index) =>
    batch.slice(index * PER_MESSAGE, (index + 1) * PER_MESSAGE),
  );
}
