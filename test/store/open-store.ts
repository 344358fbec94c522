import type { Store } from '../../src/log/store.ts';

/** An empty store of the kind under test. */
export interface OpenedStore {
  readonly store: Store;
  /** The same data opened anew, once `store` is closed. */
  reopen(): Promise<Store>;
  /** One more handle on the same data, as another instance has it. */
  second(): Promise<Store>;
  /** Closes every handle that is still open, and removes the data. */
  cleanup(): Promise<void>;
}

/** Makes an empty store that shares nothing with any other. */
export type OpenStore = () => Promise<OpenedStore>;

/** A test's body on an empty store, which is removed afterwards. */
export const withStore =
  <Opened extends OpenedStore>(open: () => Promise<Opened>) =>
  (run: (opened: Opened) => Promise<void>) =>
  async (): Promise<void> => {
    const opened = await open();
    try {
      await run(opened);
    } finally {
      await opened.cleanup();
    }
  };
