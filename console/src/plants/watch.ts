import { signal } from '@preact/signals';
import { openPlantStore } from '../api/rest.ts';
import type { Liveness, Stream } from '../live.ts';
import { PlantList } from './plant-list.ts';

/** The caller's plants, kept up to date. */
export class PlantWatch implements Stream {
  readonly liveness = signal<Liveness>({ state: 'loading' });
  /** Increases with each visible change, at most once a frame. */
  readonly version = signal(0);
  #shown = new PlantList();
  /** The plants of a new state, until it is complete. */
  #next = this.#shown;
  /** Up to here the shown plants are exact; undefined before the first state. */
  #position: bigint | undefined;
  #isDue = false;
  #isLive = (): void => {};
  readonly #store = openPlantStore((failure) => {
    if (failure !== undefined) this.liveness.value = { state: 'failed', message: failure };
    // A resumed watch yields nothing until something happens.
    else if (this.#position !== undefined) this.#isLive();
  });

  /** The plants. Until the first state is complete, the part that has arrived. */
  get plants(): PlantList {
    return this.#shown;
  }

  readonly run = async (isLive: () => void, signal: AbortSignal): Promise<void> => {
    this.#isLive = isLive;
    const after = this.#position;
    for await (const change of this.#store.watch({ signal, ...(after !== undefined && { after }) })) {
      if (change.type === 'reset') {
        this.#next = new PlantList();
        if (this.#shown.size === 0) this.#shown = this.#next;
        this.#position = undefined;
      } else if (change.type === 'ready') {
        this.#shown = this.#next;
        this.#isLive();
      } else this.#next.take(change);
      if ('position' in change) this.#position = change.position;
      this.#changed();
    }
  };

  #changed(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.version.value++;
    });
  }
}
