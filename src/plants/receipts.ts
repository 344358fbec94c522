import { create } from '@bufbuild/protobuf';
import {
  type GetReceiptRequest,
  type GetReceiptResponse,
  GetReceiptResponseSchema,
} from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { ScopePolicy } from '../auth/scopes.ts';
import type { Call } from '../call.ts';
import { PlantStoreError } from '../domain/errors.ts';
import { type LoggedEvent, plantEventOf } from '../log/event/event.ts';
import type { Store } from '../log/store.ts';
import type { Tree } from '../log/tree/tree.ts';
import { unavailable } from '../log/unavailable.ts';
import { type Checkpoints, checkpointWith } from '../transparency/checkpoints.ts';
import { makeReceipt } from '../transparency/receipt.ts';
import { Turnstile } from '../turnstile.ts';

/** Dependencies of Receipts. */
export interface ReceiptOptions {
  readonly store: Store;
  readonly tree: Tree;
  readonly checkpoints: Checkpoints;
  readonly scopes: ScopePolicy;
}

/**
 * Most receipts that are made at once, and most of an owner that may wait for it. Each hashes up to some hundred events
 * in one go, so that hundreds at once would stop the event loop. Those that wait keep their places among the requests
 * in flight, unless their callers have left: the bound is for these.
 */
const MAKERS = 2;
const WAITING = 256;

// Nobody gets it.
const GONE = new PlantStoreError('CANCELLED', 'the call is over');

/** Makes receipts for owners. Rejects with PlantStoreError. */
export class Receipts {
  readonly #options: ReceiptOptions;
  readonly #makers = new Turnstile(MAKERS, WAITING);

  constructor(options: ReceiptOptions) {
    this.#options = options;
  }

  /**
   * The receipt for one of the caller's events. Rejects with EVENT_NOT_FOUND for any other position, whether or not it
   * has an event.
   */
  async getReceipt({ position }: GetReceiptRequest, { principal, signal }: Call): Promise<GetReceiptResponse> {
    const { store, tree, checkpoints, scopes } = this.#options;
    scopes.require(principal, 'plants:read');
    try {
      const event = await eventAt(store, Number(position));
      // An erased event has no owner any more.
      if (event === undefined || plantEventOf(event)?.owner !== principal.owner)
        throw new PlantStoreError('EVENT_NOT_FOUND', 'you have no event at this position');
      const checkpoint = await checkpointWith(checkpoints, event.position);
      using _place = await this.#makers.enter(principal.owner);
      if (signal.aborted) throw GONE;
      return create(GetReceiptResponseSchema, { receipt: await makeReceipt(tree, checkpoint, event) });
    } catch (error) {
      throw unavailable(error);
    }
  }
}

async function eventAt(store: Store, position: number): Promise<LoggedEvent | undefined> {
  if (position < 1 || !Number.isSafeInteger(position)) return undefined;
  for await (const [event] of store.read(position - 1, { to: position })) return event;
  return undefined;
}
