import { storedHash, type TreeNodes } from '../../../src/log/tree/nodes.ts';
import type { MemoryStore } from './memory-store.ts';
import { nodeKey, type State } from './state.ts';

/** The nodes of a level by index. */
function* nodesOf({ nodes }: State, level: number): Generator<readonly [number, Uint8Array]> {
  for (const [key, node] of nodes) {
    const [at, index] = key.split('/').map(Number);
    if (at === level) yield [index!, node];
  }
}

/** The stored nodes of the tree. */
export class MemoryTree implements TreeNodes {
  readonly #store: MemoryStore;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  count(level: number): Promise<number> {
    return this.#store.old('count', (state) => {
      let count = 0;
      for (const [index] of nodesOf(state, level)) count = Math.max(count, index + 1);
      return count;
    });
  }

  read(level: number, start: number, end: number): Promise<Uint8Array[]> {
    return this.#store.old('nodes', ({ nodes }) => {
      const found: Uint8Array[] = [];
      for (let index = start; index < end; index++) {
        const node = nodes.get(nodeKey(level, index));
        if (node === undefined) break;
        found.push(storedHash(level, index, node));
      }
      return found;
    });
  }

  write(level: number, start: number, nodes: readonly Uint8Array[]): Promise<void> {
    return this.#store.write('writeNodes', (state) => {
      const all = new Map(state.nodes);
      for (const [offset, node] of nodes.entries()) all.set(nodeKey(level, start + offset), node);
      return { changes: { nodes: all }, result: undefined };
    });
  }

  truncate(level: number, count: number): Promise<void> {
    return this.#store.write('truncate', (state) => {
      const all = new Map(state.nodes);
      for (const [index] of nodesOf(state, level)) if (index >= count) all.delete(nodeKey(level, index));
      return { changes: { nodes: all }, result: undefined };
    });
  }
}
