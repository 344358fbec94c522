import { setTimeout as sleep } from 'node:timers/promises';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import type { PlantRow, Store } from '../../src/log/store.ts';

/** What happens to one append. A late copy is appended, if still possible, after the caller got an error. */
export type Fault =
  | { readonly kind: 'none' }
  | { readonly kind: 'request lost' }
  | { readonly kind: 'reply lost' }
  | { readonly kind: 'prefix landed'; readonly events: number }
  | { readonly kind: 'late copy'; readonly milliseconds: number };

/** A real store whose appends have the faults that `next` returns, one per call. */
export function withFaults(store: Store, next: () => Fault): Store {
  const append = async (events: readonly LoggedEvent[]): Promise<number> => {
    const fault = next();
    if (fault.kind === 'none') return store.append(events);
    if (fault.kind === 'reply lost') await store.append(events);
    if (fault.kind === 'prefix landed')
      await store.append(events.slice(0, Math.max(1, Math.min(fault.events, events.length))));
    if (fault.kind === 'late copy')
      void sleep(fault.milliseconds)
        .then(() => store.append(events))
        .catch(() => {});
    throw new Error(`fault: ${fault.kind}`);
  };
  return override(store, { append });
}

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
