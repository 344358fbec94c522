import { leafHash } from '../../log/event/chain.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { Checkpoint } from '../../tlog/checkpoint.ts';
import { Frontier } from '../../tlog/frontier.ts';
import { sameHash } from '../../tlog/hash.ts';
import type { Check, Failure } from './check.ts';

/** Does the log extend an earlier checkpoint? The tree of its first events must have the root of the checkpoint. */
export class CheckpointCheck implements Check {
  readonly question = 'checkpoint';
  readonly #checkpoint: Checkpoint;
  readonly #tree = new Frontier();

  constructor(checkpoint: Checkpoint) {
    this.#checkpoint = checkpoint;
  }

  take(events: readonly LoggedEvent[]): undefined {
    for (const event of events) {
      if (this.#tree.size === this.#checkpoint.size) return;
      this.#tree.add(leafHash(event));
    }
  }

  finish(): Failure | undefined {
    const { size, root } = this.#checkpoint;
    if (this.#tree.size < size)
      return {
        position: this.#tree.size + 1,
        message: `missing, but a checkpoint of ${size} events was signed`,
      };
    if (sameHash(this.#tree.root, root)) return undefined;
    return {
      position: size,
      message: 'the events up to here differ from those of the checkpoint: the log was rewritten here or before',
    };
  }
}
