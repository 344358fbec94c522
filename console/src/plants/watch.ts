import { signal } from '@preact/signals';
import { readEventStream } from '../api/event-stream.ts';
import { call } from '../api/rest.ts';
import { Refused } from '../api/trouble.ts';
import { keepLive, type Liveness } from '../live.ts';
import { refused, session } from '../session.ts';
import { PlantList } from './plant-list.ts';

/** The caller's plants, kept up to date. */
export class PlantWatch {
  readonly liveness = signal<Liveness>({ state: 'loading' });
  /** Increases with each visible change, at most once a frame. */
  readonly version = signal(0);
  #shown = new PlantList();
  /** The plants of a new state, until it is complete. */
  #next = new PlantList();
  #lastId = '';
  #isDue = false;

  /** The plants. Until the first state is complete, the part that has arrived. */
  get plants(): PlantList {
    return this.#shown;
  }

  /** Watches until the signal aborts. */
  run(abort: AbortSignal): Promise<void> {
    return keepLive((isLive, signal) => this.#stream(signal, isLive), this.liveness, abort);
  }

  async #stream(abort: AbortSignal, isLive: () => void): Promise<void> {
    const headers: Record<string, string> = { accept: 'text/event-stream' };
    if (this.#lastId === '') this.#begin();
    else headers['last-event-id'] = this.#lastId;
    const token = session.peek()?.token;
    const response = await call('/plants', { headers, signal: abort });
    // A resumed stream sends nothing until something happens.
    if (this.#lastId !== '') isLive();
    for await (const events of readEventStream(response.body!, this.#lastId)) {
      for (const event of events) {
        this.#lastId = event.lastEventId;
        if (event.type === 'reset') this.#begin();
        else if (event.type === 'ready') {
          this.#shown = this.#next;
          isLive();
        } else if (event.type === 'end') {
          const { message } = JSON.parse(event.data);
          refused(token, message);
          throw new Refused(401, message);
        } else this.#next.take(event);
      }
      this.#changed();
    }
  }

  #begin(): void {
    this.#next = new PlantList();
    if (this.#shown.size === 0) this.#shown = this.#next;
  }

  #changed(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.version.value++;
    });
  }
}
