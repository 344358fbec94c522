import { clone, toBinary } from '@bufbuild/protobuf';
import { type Event, EventSchema } from '../../../gen/plantstore/v1/event_pb.ts';

/** Entries of one tile of the Merkle tree (c2sp.org/tlog-tiles). */
const TILE = 256n;

/** Where an event is in the Merkle tree. */
export interface Leaf {
  /** From 0. */
  readonly index: bigint;
  /** The tile that has the hash of the leaf, and its place in it. */
  readonly tile: bigint;
  readonly place: bigint;
  /** Undefined if the browser computes no hashes: on a page loaded over plain HTTP from another machine. */
  readonly hash: Uint8Array | undefined;
}

/** The leaf of an event: the hash (RFC 6962) of its canonical bytes. */
export async function leafOf(event: Event): Promise<Leaf> {
  const index = event.position - 1n;
  return { index, tile: index / TILE, place: index % TILE, hash: await leafHash(event) };
}

async function leafHash(event: Event): Promise<Uint8Array | undefined> {
  if (!isSecureContext) return undefined;
  const canonical = clone(EventSchema, event);
  canonical.hash = new Uint8Array();
  const bytes = toBinary(EventSchema, canonical);
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array([0, ...bytes])));
}
