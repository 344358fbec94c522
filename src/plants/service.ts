import { create } from '@bufbuild/protobuf';
import {
  type CreatePlantRequest,
  type CreatePlantResponse,
  CreatePlantResponseSchema,
  type DeletePlantRequest,
  type DeletePlantResponse,
  DeletePlantResponseSchema,
  type GetPlantRequest,
  type GetPlantResponse,
  GetPlantResponseSchema,
  type ListPlantsRequest,
} from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { Principal, ScopePolicy } from '../auth/principal.ts';
import type { Call } from '../call.ts';
import type { PlantCommand } from '../domain/decider.ts';
import { InvalidFieldError, PlantStoreError } from '../domain/errors.ts';
import { MAX_IDEMPOTENCY_KEY } from '../domain/idempotency.ts';
import { required, requiredPlant } from '../domain/validation.ts';
import type { EventLog } from '../log/log.ts';
import { rowBytes } from '../log/row-size.ts';
import type { PlantRow } from '../log/store.ts';
import { isLong, type Listing, type LongList } from '../log/view/listing.ts';
import { decodeCursor, encodeCursor, MAX_PIECE_BYTES, pages } from './pages.ts';
import { basicPlant, fullPlant, isFull } from './view.ts';
import type { Watch, WatchReader } from './watch/watch.ts';
import type { Watches } from './watch/watches.ts';

/**
 * A list for a transport to send. A short list is an array; a long one comes in batches, read on demand. A short list
 * is immutable and the same object while the result is the same, so that its encoding can be cached.
 */
export interface PlantList {
  readonly plants: Listing['plants'];
  /** Cursor of the remaining plants if a limit cut the list; otherwise empty. */
  readonly nextCursor: string;
  /** Whether to show ids. The plants have them in any case. */
  readonly isFull: boolean;
}

type PlantsLog = Pick<EventLog, 'submit' | 'list' | 'get'>;

/** plantstore.v1.PlantStoreService on the event log, for every transport. Rejects with PlantStoreError. */
export class PlantsService {
  readonly #log: PlantsLog;
  readonly #scopes: ScopePolicy;
  readonly #watches: Pick<Watches, 'open' | 'waitForPiece'>;

  constructor(log: PlantsLog, scopes: ScopePolicy, watches: Pick<Watches, 'open' | 'waitForPiece'>) {
    this.#log = log;
    this.#scopes = scopes;
    this.#watches = watches;
  }

  /** Adds a plant; resolves when its event is durable. */
  async createPlant({ plant }: CreatePlantRequest, call: Call): Promise<CreatePlantResponse> {
    const { owner, actor, issuer } = this.#caller(call, 'plants:write');
    const added = requiredPlant(required('plant', plant), 'plant.');
    const idempotencyKey = idempotencyKeyOf(call);
    const position = await this.#submit({ type: 'AddPlant', owner, actor, issuer, idempotencyKey, plant: added }, call);
    return create(CreatePlantResponseSchema, { plant: basicPlant(added), position });
  }

  /** Deletes a plant; resolves when its event is durable. */
  async deletePlant(request: DeletePlantRequest, call: Call): Promise<DeletePlantResponse> {
    const { owner, actor, issuer } = this.#caller(call, 'plants:write');
    const id = required('id', request.id);
    const idempotencyKey = idempotencyKeyOf(call);
    const position = await this.#submit({ type: 'DeletePlant', owner, actor, issuer, idempotencyKey, id }, call);
    return create(DeletePlantResponseSchema, { position });
  }

  /** The position of the command's event. */
  async #submit(command: PlantCommand, call: Call): Promise<bigint> {
    const { position, replayed } = await this.#log.submit(command, call.signal);
    if (replayed) call.replayed = true;
    return BigInt(position);
  }

  async getPlant({ id: asked, view }: GetPlantRequest, call: Call): Promise<GetPlantResponse> {
    const { owner } = this.#caller(call, 'plants:read');
    const id = required('id', asked);
    const full = isFull(view);
    const plant = await this.#log.get({ owner, id });
    if (plant === undefined) throw new PlantStoreError('PLANT_NOT_FOUND', `there is no plant with id ${id}`);
    return create(GetPlantResponseSchema, { plant: full ? fullPlant({ id, ...plant }) : basicPlant(plant) });
  }

  /** Opens a watch of the caller's plants; see Watches.open. The call then gives its permit back. */
  watchPlants(call: Call, reader: WatchReader): Watch {
    const watch = this.#watches.open(this.#caller(call, 'plants:read'), reader);
    call.beginStream?.();
    return watch;
  }

  /** The caller's plants after the cursor, as of one position: all of them, or as many as the limit allows. */
  async openList(
    { limit, cursor, view }: Pick<ListPlantsRequest, 'limit' | 'cursor' | 'view'>,
    call: Call,
  ): Promise<PlantList> {
    const { owner } = this.#caller(call, 'plants:read');
    if (limit !== undefined && limit < 0) throw new InvalidFieldError('limit', 'must not be negative');
    const full = isFull(view);
    return inView(this.#inPieces(await this.#log.list({ owner, after: decodeCursor(cursor), limit }), call), full);
  }

  /** A list, of which the call holds the batch that was read last. A long one comes in pieces. */
  #inPieces(list: Listing, call: Call): Listing {
    if (!isLong(list)) return list;
    const { plants } = list;
    const pieces = this.#piecesOf(list, call);
    // To return ends the read of the store at once, also before the first piece and while one is awaited.
    const all = { next: () => pieces.next(), return: () => plants.return!(), [Symbol.asyncIterator]: () => all };
    return { ...list, plants: all };
  }

  async *#piecesOf(list: LongList, call: Call): AsyncGenerator<readonly PlantRow[]> {
    for await (const batch of list.plants) {
      call.setHeld?.(rowBytes(batch));
      for (const piece of pages(batch, MAX_PIECE_BYTES)) {
        await this.#watches.waitForPiece(call.principal.owner);
        // The caller may have taken the piece before it long ago.
        if (piece[0] !== batch[0]) await list.confirm();
        yield piece;
      }
    }
    call.setHeld?.(0);
  }

  #caller(call: Call, scope: 'plants:read' | 'plants:write'): Principal {
    this.#scopes.require(call.principal, scope);
    return call.principal;
  }
}

/** Each list in the view that was last asked for. Only one: the bound on cached lists bounds encodings too. */
const lastViews = new WeakMap<Listing, PlantList>();

function inView(listing: Listing, isFull: boolean): PlantList {
  const last = lastViews.get(listing);
  if (last?.isFull === isFull) return last;
  const { plants, next } = listing;
  const list: PlantList = { plants, nextCursor: next === undefined ? '' : encodeCursor(next), isFull };
  lastViews.set(listing, list);
  return list;
}

/** A String of Structured Fields (RFC 9651, section 3.3.3): printable ASCII in quotes, some of it escaped. */
const STRING = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/** Visible ASCII without quotes, backslashes, commas and semicolons. */
const BARE = /^[!#-+\--:<-[\]-~]+$/;

/**
 * The idempotency key of a call, if it has one (draft-ietf-httpapi-idempotency-key-header). Accepts a String of
 * Structured Fields, or its content without quotes. Throws IDEMPOTENCY_KEY_MALFORMED for any other text, an empty or
 * too long key, or more than one key.
 */
function idempotencyKeyOf({ idempotencyKey: header }: Call): string | undefined {
  if (header === undefined) return undefined;
  const [only, ...more] = [header].flat();
  const key = more.length > 0 ? undefined : parse(only!);
  if (key !== undefined && key.length > 0 && key.length <= MAX_IDEMPOTENCY_KEY) return key;
  throw new PlantStoreError(
    'IDEMPOTENCY_KEY_MALFORMED',
    `Idempotency-Key must be one string of 1 to ${MAX_IDEMPOTENCY_KEY} characters of printable ASCII, in quotes if it has spaces, commas, semicolons, quotes or backslashes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324"`,
  );
}

const parse = (text: string): string | undefined =>
  BARE.test(text) ? text : STRING.exec(text)?.[1]?.replaceAll(/\\(.)/g, '$1');
