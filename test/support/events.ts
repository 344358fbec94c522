import type { DomainEvent, PlantEvent } from '../../src/domain/events.ts';
import { headAt, seal } from '../../src/log/event/chain.ts';
import { encodeContent } from '../../src/log/event/encode.ts';
import { type Head, type LoggedEvent, plantEventOf } from '../../src/log/event/event.ts';
import type { Nodes, Store } from '../../src/log/store.ts';
import { NodeBuilder } from '../../src/log/tree/nodes.ts';
import { advanced, changesOf, firstStep } from '../../src/log/view/projector.ts';
import { sha256 } from '../../src/tlog/hash.ts';

/**
 * The commitment of an event: SHA-256 of the canonical bytes of its content. The salt protects the content against
 * guessing.
 */
export const commitmentOf = (event: DomainEvent, salt: Uint8Array): Uint8Array => sha256(encodeContent(event, salt));

/** A trace context of an event. */
export const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** An owner's new plant. */
export const added = (owner: string, plantId: bigint, name = 'Fern', tag?: string): PlantEvent => ({
  type: 'PlantAdded',
  owner,
  actor: `who acts for ${owner}`,
  plantId,
  name,
  tag,
});

/** The deletion of an owner's plant. */
export const deleted = (owner: string, plantId: bigint): PlantEvent => ({
  type: 'PlantDeleted',
  owner,
  actor: `who acts for ${owner}`,
  plantId,
});

/** An event of a plant that is not erased. */
export type LoggedPlantEvent = LoggedEvent & { readonly event: PlantEvent; readonly salt: Uint8Array };

/** The events as events of plants. Throws if any is erased or of another type. */
export function ofPlants(events: readonly LoggedEvent[]): LoggedPlantEvent[] {
  for (const event of events)
    if (plantEventOf(event) === undefined) throw new Error(`position ${event.position} says nothing of a plant`);
  return events as LoggedPlantEvent[];
}

/** The events after a head, with positions and chained hashes. */
export function chain(head: Head, events: readonly PlantEvent[]): LoggedPlantEvent[] {
  let last = head;
  return ofPlants(
    events.map((event) => {
      const sealed = seal(last, event, crypto.randomUUID(), Date.now());
      last = headAt(sealed);
      return sealed;
    }),
  );
}

/** Appends events to a log without other writers. */
export async function append(store: Store, ...events: PlantEvent[]): Promise<LoggedPlantEvent[]> {
  const head = await store.head();
  const sealed = chain(head, events);
  const appended = await store.append(sealed);
  if (appended !== events.length) throw new Error(`${appended} of ${events.length} events were appended`);
  return sealed;
}

/** The nodes of a step that completes no tile. */
export const NO_NODES: Nodes = { first: 0, hashes: [] };

/** Advances the read model by a number of events, or to the end of the log. Returns the checkpoint. */
export async function project(store: Store, events = Number.POSITIVE_INFINITY): Promise<number> {
  const start = await store.checkpoint();
  const log: LoggedEvent[] = [];
  for await (const batch of store.read(start)) log.push(...batch);
  const end = Math.min(log.length, events);
  const builder = await NodeBuilder.after(store, start);
  for (let from = 0; from < end; ) {
    const step = firstStep(log.slice(from, Math.min(from + store.advanceLimit, end)));
    const [at, nodes] = [start + from, builder.add(step)];
    if (!(await advanced(store, [at, at + step.length, changesOf(step), nodes], async () => true)))
      throw new Error('somebody else moved the checkpoint');
    from += step.length;
  }
  return start + end;
}
