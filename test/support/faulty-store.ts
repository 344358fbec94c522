import type { PlantRow, Store } from '../../src/log/store.ts';

/** A real store that never grants the projector its lease, so that only the test advances the read model. */
export const withoutProjector = (store: Store): Store => override(store, { lease: async () => false });

/** A real store whose snapshots return the first rows of a list, and the rest once `open` resolves. */
export const gated = (store: Store, open: Promise<void>): Store =>
  override(store, {
    snapshot: async () => {
      const snapshot = await store.snapshot();
      async function* list(owner: string, after: bigint | undefined): AsyncGenerator<PlantRow[]> {
        for await (const rows of snapshot.list(owner, after)) {
          yield rows;
          await open;
        }
      }
      const { position, upTo } = snapshot;
      return { position, upTo, list, all: () => snapshot.all(), close: () => snapshot.close() };
    },
  });

/** A real store with some methods replaced. */
export const override = (store: Store, methods: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(methods, name) ?? Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
