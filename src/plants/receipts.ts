import { create } from '@bufbuild/protobuf';
import { GetReceiptResponseSchema, type PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { ScopePolicy } from '../auth/principal.ts';
import type { Methods } from '../call.ts';
import { PlantStoreError } from '../domain/errors.ts';
import { type Head, type LoggedEvent, plantEventOf } from '../log/event/event.ts';
import type { Store } from '../log/store.ts';
import { GENERATION_LIMIT } from '../log/tail/follower.ts';
import type { Tree } from '../log/tree/tree.ts';
import { unavailable } from '../log/unavailable.ts';
import { eventAt } from '../log/whole-range.ts';
import { CLIENT_LEFT, type Semaphore } from '../semaphore.ts';
import { freshAnswer } from '../time/pause.ts';
import { type Checkpoints, checkpointWith } from '../transparency/checkpoints.ts';
import { makeReceipt, proveEvent } from '../transparency/event-proof.ts';

interface ReceiptOptions {
  readonly store: Store;
  readonly head: () => Promise<Head>;
  readonly tree: Tree;
  readonly checkpoints: Checkpoints;
  readonly scopes: ScopePolicy;
  /** Bounds the work on proofs: a receipt hashes up to some hundred events in one go. */
  readonly proofs: Semaphore;
}

const LATE = new PlantStoreError('STORE_UNAVAILABLE', 'the event cannot be read now; try again');

/** The part of PlantStoreService that makes receipts for owners. */
export type Receipts = Pick<Methods<typeof PlantStoreService>, 'getReceipt'>;

/** Implements Receipts. Rejects with PlantStoreError. */
export function implementReceipts(options: ReceiptOptions): Receipts {
  const { store, head, tree, checkpoints, scopes, proofs } = options;

  /**
   * The owner's event at a position. Rejects with EVENT_NOT_FOUND for any other position, whether or not it has an
   * event.
   */
  const eventOf = async (owner: string, position: bigint): Promise<LoggedEvent> => {
    const event = await eventAt(store, Number(position));
    // A server that was deposed does not have the last events.
    if (event === undefined && position > 0n && position <= (await head()).position) throw LATE;
    // An erased event has no owner any more.
    if (event === undefined || plantEventOf(event)?.owner !== owner)
      throw new PlantStoreError('EVENT_NOT_FOUND', 'you have no event at this position');
    return event;
  };

  return {
    async getReceipt({ position }, { principal, signal }) {
      const { owner } = principal;
      scopes.require(principal, 'plants:read');
      try {
        await eventOf(owner, position);
        const checkpoint = await checkpointWith(checkpoints, Number(position));
        using _permit = await proofs.acquire(owner);
        if (signal.aborted) throw CLIENT_LEFT;
        const proven = await proveEvent(tree, checkpoint, Number(position));
        // Again, and last, since the owner may have been erased while the call waited.
        const event = await freshAnswer(GENERATION_LIMIT, () => eventOf(owner, position));
        return create(GetReceiptResponseSchema, { receipt: makeReceipt(proven, checkpoint, event) });
      } catch (error) {
        throw unavailable(error);
      }
    },
  };
}
