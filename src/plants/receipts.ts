import { create } from '@bufbuild/protobuf';
import {
  type GetReceiptRequest,
  type GetReceiptResponse,
  GetReceiptResponseSchema,
} from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { ScopePolicy } from '../auth/scopes.ts';
import type { Call } from '../call.ts';
import { PlantStoreError } from '../domain/errors.ts';
import { type Head, type LoggedEvent, plantEventOf } from '../log/event/event.ts';
import type { Store } from '../log/store.ts';
import type { Tree } from '../log/tree/tree.ts';
import { unavailable } from '../log/unavailable.ts';
import { eventAt } from '../log/whole-range.ts';
import { LEFT, type Semaphore } from '../semaphore.ts';
import { type Checkpoints, checkpointWith } from '../transparency/checkpoints.ts';
import { makeReceipt } from '../transparency/event-proof.ts';

/** Dependencies of Receipts. */
export interface ReceiptOptions {
  readonly store: Store;
  /** The log's end. */
  readonly head: () => Promise<Head>;
  readonly tree: Tree;
  readonly checkpoints: Checkpoints;
  readonly scopes: ScopePolicy;
  /** Bounds the work on proofs: a receipt hashes up to some hundred events in one go. */
  readonly proofs: Semaphore;
}

const LATE = new PlantStoreError('STORE_UNAVAILABLE', 'the event cannot be read now; try again');

/** Makes receipts for owners. Rejects with PlantStoreError. */
export class Receipts {
  readonly #options: ReceiptOptions;

  constructor(options: ReceiptOptions) {
    this.#options = options;
  }

  /**
   * The receipt for one of the caller's events. Rejects with EVENT_NOT_FOUND for any other position, whether or not it
   * has an event.
   */
  async getReceipt({ position }: GetReceiptRequest, { principal, signal }: Call): Promise<GetReceiptResponse> {
    const { tree, checkpoints, scopes, proofs } = this.#options;
    const { owner } = principal;
    scopes.require(principal, 'plants:read');
    try {
      await this.#eventOf(owner, position);
      const checkpoint = await checkpointWith(checkpoints, Number(position));
      using _permit = await proofs.acquire(owner);
      if (signal.aborted) throw LEFT;
      // Again, since the owner may have been erased while the call waited.
      const event = await this.#eventOf(owner, position);
      return create(GetReceiptResponseSchema, { receipt: await makeReceipt(tree, checkpoint, event) });
    } catch (error) {
      throw unavailable(error);
    }
  }

  async #eventOf(owner: string, position: bigint): Promise<LoggedEvent> {
    const { store, head } = this.#options;
    const event = await eventAt(store, Number(position));
    // A server that was deposed does not have the last events.
    if (event === undefined && position > 0n && position <= (await head()).position) throw LATE;
    // An erased event has no owner any more.
    if (event === undefined || plantEventOf(event)?.owner !== owner)
      throw new PlantStoreError('EVENT_NOT_FOUND', 'you have no event at this position');
    return event;
  }
}
