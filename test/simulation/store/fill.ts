import { headAt, seal } from '../../../src/log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../../../src/log/event/event.ts';
import { NodeBuilder } from '../../../src/log/tree/nodes.ts';
import { atOnce, type Database } from './database.ts';
import { MemoryStore } from './memory-store.ts';

/** An owner of whom nobody asks anything. */
const OWNER = 'zoe';

/** Fills a new database: pairs of events that add a plant and delete it again. */
export async function fill(database: Database, pairs: number): Promise<void> {
  const events: LoggedEvent[] = [];
  let head: Head = EMPTY_HEAD;
  for (let index = 0; index < 2 * pairs; index++) {
    const about = { owner: OWNER, actor: `filler-${index}`, plantId: 0n };
    const event =
      index % 2 === 0
        ? ({ type: 'PlantAdded', ...about, name: 'fern', tag: undefined } as const)
        : ({ type: 'PlantDeleted', ...about } as const);
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    const logged = seal(head, event, id, database.clock(), new Uint8Array(16).fill(index % 256));
    events.push(logged);
    head = headAt(logged);
  }
  const store = new MemoryStore(database, atOnce(database));
  await store.append(events);
  await store.advance(0, head.position, { deletes: [], inserts: [] }, new NodeBuilder().add(events));
}
