import { keyString } from '../../../src/domain/plant.ts';
import { HASH_SIZE } from '../../../src/tlog/hash.ts';
import type { Damage } from '../plan.ts';
import type { State } from '../store/state.ts';
import type { World } from '../world.ts';

/** Nobody asks for these: a wrong answer is no violation until the read model is repaired. */
const NOBODY = { owner: 'nobody', id: 1n, name: 'Weed', tag: undefined };

const DAMAGES: { readonly [What in Damage]: (state: State) => Partial<State> } = {
  'the checkpoint is gone': () => ({ checkpoint: undefined }),
  'the checkpoint is moved back': ({ checkpoint }) => ({ checkpoint: Math.floor((checkpoint ?? 0) / 2) }),
  'a row is of nobody': ({ rows }) => ({ rows: new Map(rows).set(keyString(NOBODY.owner, NOBODY.id), NOBODY) }),
  'nodes are of no events': ({ nodes }) => ({
    nodes: new Map(nodes).set(0, new Uint8Array(HASH_SIZE)).set(1, new Uint8Array(5)),
  }),
};

/**
 * Somebody damages what is derived from the log, by hand. Not while an owner is erased, which waits for the read model:
 * a repair waits for the erasure.
 */
export function damage(world: World, what: Damage): void {
  if (world.erased.size > 0) return;
  world.damaged();
  world.tell('somebody', what);
  const { database } = world.server;
  // At once, so that a repair that begins later finds it.
  database.commit(database.write((state) => ({ changes: DAMAGES[what](state), result: undefined })).version);
}
