import type { MongoClient, TopologyDescription } from 'mongodb';

/** Changes of the primary during one read after which the read is given up. */
const MAX_CHANGES = 3;

/**
 * Knows whether what the primary reads is up to date.
 *
 * A new primary has every acknowledged write, but until a write of its own is majority-committed it may not yet know that they
 * are, and answer a majority read without them. So each election is confirmed by one majority write before a read under it
 * counts. A primary that was deposed and has not noticed could not do that write, but could still read: `strict` confirms anew
 * for each read.
 */
export class Primary {
  readonly #confirm: () => Promise<unknown>;
  readonly #strict: boolean;
  #election: string | undefined;
  #confirmed: string | undefined;

  /** `confirm` does a majority write on the primary. The client must not be connected yet. */
  constructor(client: MongoClient, strict: boolean, confirm: () => Promise<unknown>) {
    this.#confirm = confirm;
    this.#strict = strict;
    client.on('topologyDescriptionChanged', ({ newDescription }) => {
      this.#election = electionOf(newDescription);
    });
  }

  /** The result of a read on the primary that shows all that was acknowledged before the call, by whatever instance. */
  async read<T>(read: () => Promise<T>): Promise<T> {
    for (let changes = 0; changes <= MAX_CHANGES; changes++) {
      const election = this.#election;
      if (this.#strict || election === undefined || election !== this.#confirmed) {
        await this.#confirm();
        if (election === this.#election) this.#confirmed = election;
      }
      const result = await read();
      // The driver goes on to later elections only, so the read was sent under this one.
      if (election !== undefined && election === this.#election) return result;
    }
    throw new Error('the primary of the replica set changes over and over');
  }
}

/** Names the election that the primary won: no two have the same. Undefined while no primary is known. */
function electionOf({ servers }: TopologyDescription): string | undefined {
  for (const { type, electionId } of servers.values()) if (type === 'RSPrimary') return electionId?.toHexString();
  return undefined;
}
