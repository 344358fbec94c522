import type { Instance } from '../instance.ts';
import type { World } from '../world.ts';

/** Milliseconds after which a reader comes back whose stream has ended. */
const RETRY = 300;

/** Somebody who reads a stream of an instance, and opens another whenever it ends. */
export abstract class StreamReader {
  protected readonly world: World;
  protected instance: Instance;
  /** The number of the stream: what comes from an earlier one is not read any more. */
  #stream = 0;

  constructor(world: World, instance: Instance) {
    this.world = world;
    this.instance = instance;
  }

  /** Opens a stream of the present instance, which must have one. `isCurrent`: no other was opened since. */
  protected abstract read(service: NonNullable<Instance['service']>, isCurrent: () => boolean): void;

  /** The reader finds that the instance is gone, and goes to another. */
  lost(process: Instance['process']): void {
    if (this.instance.process === process) this.retry();
  }

  /** The stream has ended: the reader comes back later, to any instance. */
  protected retry(): void {
    const isCurrent = this.#next();
    this.world.scheduler.after(RETRY, undefined, () => {
      if (!isCurrent()) return;
      this.instance = this.world.instance(this.world.random.whole(0, 9));
      this.open();
    });
  }

  protected open(): void {
    const isCurrent = this.#next();
    const { service } = this.instance;
    if (service === undefined) this.retry();
    else this.read(service, isCurrent);
  }

  #next(): () => boolean {
    const stream = ++this.#stream;
    return () => stream === this.#stream;
  }
}
