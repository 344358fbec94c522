import type { MongoClient, TopologyDescription } from 'mongodb';

/** Changes of the primary after which one read is given up. */
const MAX_CHANGES = 3;

/**
 * Ensures that reads on the primary are up to date.
 *
 * A new primary has every acknowledged write. But until a write of its own is majority-committed, it may not know that
 * those writes are, and may answer a majority read without them. So one majority write confirms each election before a
 * read under it counts. A deposed primary that has not noticed its loss cannot do that write, but can still read.
 * `strict` therefore confirms again for each read.
 */
export class Primary {
  readonly #confirm: () => Promise<unknown>;
  readonly #strict: boolean;
  #election: string | undefined;
  #confirmed: string | undefined;

  /** `confirm`: does a majority write on the primary. The client must not be connected yet. */
  constructor(client: MongoClient, strict: boolean, confirm: () => Promise<unknown>) {
    this.#confirm = confirm;
    this.#strict = strict;
    client.on('topologyDescriptionChanged', ({ newDescription }) => {
      this.#election = electionOf(newDescription);
    });
  }

  /** The result of a read on the primary that includes everything that any instance acknowledged before the call. */
  async read<T>(read: () => Promise<T>): Promise<T> {
    for (let changes = 0; changes <= MAX_CHANGES; changes++) {
      const election = this.#election;
      if (this.#strict || election === undefined || election !== this.#confirmed) {
        await this.#confirm();
        if (election === this.#election) this.#confirmed = election;
      }
      const result = await read();
      // The driver only ever moves to later elections, so the read was sent under this one.
      if (election !== undefined && election === this.#election) return result;
    }
    throw new Error(
      'the primary of the replica set keeps changing, or MONGODB_URI names another member with directConnection=true',
    );
  }
}

/** Identifies the election that the primary won. No two elections share an id. Undefined while no primary is known. */
function electionOf({ servers }: TopologyDescription): string | undefined {
  for (const { type, electionId } of servers.values()) if (type === 'RSPrimary') return electionId?.toHexString();
  return undefined;
}
