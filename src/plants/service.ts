import { create } from '@bufbuild/protobuf';
import {
  type CreatePlantRequest,
  type CreatePlantResponse,
  CreatePlantResponseSchema,
  type DeletePlantRequest,
  type DeletePlantResponse,
  DeletePlantResponseSchema,
  type ListPlantsRequest,
} from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { Principal } from '../auth/principal.ts';
import type { ScopePolicy } from '../auth/scopes.ts';
import { PlantStoreError } from '../domain/errors.ts';
import type { PlantList as Listing } from '../log/listing.ts';
import type { EventLog } from '../log/log.ts';
import { principalOf, replayedKey, type UnaryContext } from './call.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { remembered } from './remembered.ts';
import { checkText } from './validation.ts';

/**
 * A list as a transport sends it: short ones as an array, long ones in batches that are read as they are taken. A short one never
 * changes, and is the same object for as long as it is the answer, so that what it is encoded to can be kept.
 */
export interface PlantList {
  readonly plants: Listing['plants'];
  /** Cursor of the rest when a limit cut the list, else empty. */
  readonly nextCursor: string;
}

/**
 * plantstore.v1.PlantStoreService on the event log. Every transport calls these methods with an authenticated call; scopes and
 * values are checked here, once for all of them. All reject with PlantStoreError.
 */
export class PlantsService {
  readonly #log: Pick<EventLog, 'submit' | 'list'>;
  readonly #scopes: ScopePolicy;

  constructor(log: Pick<EventLog, 'submit' | 'list'>, scopes: ScopePolicy) {
    this.#log = log;
    this.#scopes = scopes;
  }

  /** Adds a plant; resolves when its event is durable. */
  async createPlant({ plant }: CreatePlantRequest, call: UnaryContext): Promise<CreatePlantResponse> {
    const { owner, actor, issuer } = this.#caller(call, 'plants:write');
    if (plant === undefined) throw new PlantStoreError('INVALID_FIELD', 'plant is required', { field: 'plant' });
    const { id, name, tag } = plant;
    checkText('plant.name', name);
    if (tag !== undefined) checkText('plant.tag', tag);
    const { position, replayed } = await this.#log.submit(
      { type: 'AddPlant', owner, actor, issuer, idempotencyKey: idempotencyKeyOf(call), plant: { id, name, tag } },
      call.signal,
    );
    if (replayed) call.values.set(replayedKey, true);
    const added = tag === undefined ? { name } : { name, tag };
    return create(CreatePlantResponseSchema, { plant: added, position: BigInt(position) });
  }

  /** Deletes a plant; resolves when its event is durable. */
  async deletePlant({ id }: DeletePlantRequest, call: UnaryContext): Promise<DeletePlantResponse> {
    const { owner, actor, issuer } = this.#caller(call, 'plants:write');
    const idempotencyKey = idempotencyKeyOf(call);
    const command = { type: 'DeletePlant', owner, actor, issuer, idempotencyKey, id } as const;
    const { position, replayed } = await this.#log.submit(command, call.signal);
    if (replayed) call.values.set(replayedKey, true);
    return create(DeletePlantResponseSchema, { position: BigInt(position) });
  }

  /** The caller's plants as of one position: all that follow the cursor, or as many as the limit allows. */
  async openList(
    { limit, cursor }: Pick<ListPlantsRequest, 'limit' | 'cursor'>,
    call: UnaryContext,
  ): Promise<PlantList> {
    const { owner } = this.#caller(call, 'plants:read');
    if (limit !== undefined && limit < 0)
      throw new PlantStoreError('INVALID_FIELD', 'limit must be an integer from 0 to 2147483647', { field: 'limit' });
    return withCursor(await this.#log.list({ owner, after: decodeCursor(cursor), limit }));
  }

  #caller(call: UnaryContext, scope: 'plants:read' | 'plants:write'): Principal {
    const principal = principalOf(call);
    this.#scopes.require(principal, scope);
    return principal;
  }
}

const withCursor = remembered(({ plants, next }: Listing): PlantList => {
  const nextCursor = next === undefined ? '' : encodeCursor(next);
  return { plants, nextCursor };
});
