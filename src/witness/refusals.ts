import type { Checkpoint } from '../tlog/checkpoint.ts';
import { formatHash, sameHash } from '../tlog/hash.ts';

/** Most lines about one log between two of its cosigned checkpoints. */
const MAX_LINES = 100;

type SizeAndRoot = Pick<Checkpoint, 'size' | 'root'>;

/**
 * Writes one line for each checkpoint that its log signed and did not prove to extend the cosigned one. Anybody can send
 * a checkpoint again, so each is written once, and only so many until the next is cosigned.
 */
export class Refusals {
  readonly #write: (line: string) => void;
  /** By origin: the size of the last cosigned checkpoint, and the roots that were refused since. */
  readonly #refused = new Map<string, { readonly since: number; readonly roots: Set<string> }>();

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** Takes note of a refused checkpoint, whose signature was valid. */
  add(origin: string, cosigned: SizeAndRoot, { size, root }: SizeAndRoot): void {
    // Every log extends the empty one, and each checkpoint itself: then only the proof was wrong.
    if (cosigned.size === 0 || sameHash(root, cosigned.root)) return;
    let refused = this.#refused.get(origin);
    if (refused?.since !== cosigned.size) {
      refused = { since: cosigned.size, roots: new Set() };
      this.#refused.set(origin, refused);
    }
    const { roots } = refused;
    const shown = formatHash(root);
    if (roots.has(shown) || roots.size === MAX_LINES) return;
    roots.add(shown);
    const known = `${cosigned.size} events (root ${formatHash(cosigned.root)})`;
    this.#write(
      size === cosigned.size
        ? `error: the log ${origin} has signed two checkpoints of ${known}: the other has the root ${shown}`
        : `error: the log ${origin} did not prove that its checkpoint of ${size} events (root ${shown}) extends the cosigned one of ${known}`,
    );
  }
}
