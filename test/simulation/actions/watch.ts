import type { PlantStoreError } from '../../../src/domain/errors.ts';
import type { Watch } from '../../../src/plants/watch/watch.ts';
import { ALICE } from '../../support/principal.ts';
import type { Instance } from '../instance.ts';
import { WatchJudge } from '../judges/watch.ts';
import type { World } from '../world.ts';
import { StreamReader } from './stream-reader.ts';

/** A reader of an owner's plants, who opens a stream again whenever one ends, and goes on after the last position. */
export class Watcher extends StreamReader {
  readonly judge: WatchJudge;
  #watch: Watch | undefined;
  /** Milliseconds that it takes to read. */
  readonly #slowness: number;

  constructor(world: World, instance: Instance, owner: string) {
    super(world, instance);
    this.#slowness = world.random.chance(0.2) ? world.random.scaled(10, 3_000) : 0.1;
    this.judge = new WatchJudge(owner, world.truth);
    this.open();
  }

  /** The reader goes to another instance, or comes back to the same. */
  reconnect(instance: Instance): void {
    const { process } = this.instance;
    const watch = this.#watch;
    process.do(() => watch?.close());
    this.instance = instance;
    this.open();
  }

  /** A backup was restored, and the reader starts again. */
  restart(): void {
    const watch = this.#watch;
    this.instance.process.do(() => watch?.close());
    this.judge.restart();
    this.retry();
  }

  protected override read({ watches }: NonNullable<Instance['service']>, isCurrent: () => boolean): void {
    const { world } = this;
    const { process } = this.instance;
    const after = this.judge.position;
    const opened = world.scheduler.now;
    this.judge.opened(world.freshness.of(process).from, () => world.mayBeWrong(opened));
    process.do(() => {
      if (!isCurrent()) return;
      const viewer = {
        unsent: 0,
        news: () => read(),
        quiet: () => {},
        ended: (why: PlantStoreError) => {
          world.tell(process.name, `ends the watch of ${this.judge.owner}: ${why.message}`);
          if (isCurrent()) this.retry();
        },
      };
      const principal = { ...ALICE, owner: this.judge.owner };
      let watch: Watch;
      try {
        watch = watches.open(principal, viewer);
      } catch (error) {
        world.tell(process.name, `opens no watch: ${(error as Error).message}`);
        return this.retry();
      }
      this.#watch = watch;
      const take = () => {
        if (isCurrent()) for (const step of watch.take()) world.judge(() => this.judge.take(step));
      };
      let isReading = true;
      const read = () => {
        if (isReading) return;
        isReading = true;
        world.scheduler.after(this.#slowness, process, () => {
          isReading = false;
          take();
        });
      };
      const begin = async () => {
        for await (const steps of await watch.begin(after)) {
          if (!isCurrent()) return watch.close();
          for (const step of steps) world.judge(() => this.judge.take(step));
        }
        isReading = false;
        read();
      };
      begin().catch((error) => {
        world.tell(process.name, `begins no watch: ${(error as Error).message}`);
        if (isCurrent()) this.retry();
      });
    });
  }
}
