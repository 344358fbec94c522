import { keyString, plantFields } from '../../src/domain/plant.ts';
import { headAt, verifyContent, verifyNext } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent, plantEventOf } from '../../src/log/event/event.ts';
import type { PlantRow, Store } from '../../src/log/store.ts';
import type { Listing } from '../../src/log/view/listing.ts';
import { type LoggedPlantEvent, ofPlants } from './events.ts';

/** The whole log, without erased events. */
export const readLog = async (store: Store): Promise<LoggedPlantEvent[]> => ofPlants(await readAnyLog(store));

/** The whole log, including erased events. */
export async function readAnyLog(store: Store): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  for await (const batch of store.read(0)) events.push(...batch);
  return events;
}

/**
 * Throws unless positions are 1, 2, 3, ..., times ascend, the chain is valid, and each content matches its commitment.
 */
export function verifyLog(events: readonly LoggedEvent[]): void {
  let head: Head = EMPTY_HEAD;
  for (const event of events) {
    verifyNext(head, event);
    verifyContent(event);
    head = headAt(event);
  }
}

/** Each owner's plants after the events, in ascending order of id. A deliberately simple implementation. */
export function fold(events: readonly LoggedEvent[]): Map<string, PlantRow[]> {
  const plants = new Map<string, PlantRow & { owner: string }>();
  for (const logged of events) {
    const event = plantEventOf(logged);
    if (event === undefined) continue;
    const key = keyString(event.owner, event.plantId);
    if (event.type === 'PlantDeleted') {
      if (!plants.delete(key)) throw new Error(`deleted what was not there: ${key}`);
    } else {
      if (plants.has(key)) throw new Error(`added what was there: ${key}`);
      plants.set(key, { owner: event.owner, id: event.plantId, ...plantFields(event) });
    }
  }
  const owners = new Map<string, PlantRow[]>();
  for (const { owner, ...row } of plants.values()) owners.set(owner, [...(owners.get(owner) ?? []), row]);
  for (const rows of owners.values()) rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  return owners;
}

/** All plants of a list. */
export async function collect(list: Listing): Promise<PlantRow[]> {
  if (Symbol.iterator in list.plants) return [...list.plants];
  const plants: PlantRow[] = [];
  for await (const batch of list.plants) plants.push(...batch);
  return plants;
}

/** The read model's rows of an owner, and their checkpoint. */
export async function readModel(store: Store, owner: string): Promise<{ rows: PlantRow[]; position: number }> {
  const snapshot = await store.snapshot();
  const rows: PlantRow[] = [];
  for await (const batch of snapshot.list(owner, undefined)) rows.push(...batch);
  await snapshot.close();
  if (snapshot.position === undefined) throw new Error('the read model has no checkpoint');
  return { rows, position: snapshot.position };
}
