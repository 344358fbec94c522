import { create } from '@bufbuild/protobuf';
import {
  type ListPlantsRequest,
  type ListPlantsResponse,
  ListPlantsResponseSchema,
  type PlantStoreService,
  type StreamPlantsRequest,
  type StreamPlantsResponse,
  StreamPlantsResponseSchema,
} from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { whileValid } from '../auth/validity.ts';
import type { Call, Methods, StreamingCall } from '../call.ts';
import type { PlantRow } from '../log/store.ts';
import { beyondFirstPage, encodeCursor, MAX_PAGE_PLANTS, pages } from './pages.ts';
import type { Receipts } from './receipts.ts';
import type { PlantList, PlantsService } from './service.ts';
import { basicPlant, derivedOnce, fullPlant } from './view.ts';
import { watchPlants } from './watch/messages.ts';

/** plantstore.v1.PlantStoreService for gRPC and Connect. Rejects with PlantStoreError. */
export const implementPlantStore = (plants: PlantsService, receipts: Receipts) =>
  ({
    createPlant: (request, call) => plants.createPlant(request, call),
    deletePlant: (request, call) => plants.deletePlant(request, call),
    listPlants: (request, call) => listPage(plants, request, call),
    getPlant: (request, call) => plants.getPlant(request, call),
    watchPlants: (request, call) => watchPlants(plants, request, call),
    streamPlants: (request, call) => whileValid(call.principal.validity, () => streamPages(plants, request, call)),
    ...receipts,
  }) satisfies Methods<typeof PlantStoreService>;

async function listPage(plants: PlantsService, request: ListPlantsRequest, call: Call): Promise<ListPlantsResponse> {
  const limit = Math.min(request.limit ?? MAX_PAGE_PLANTS, MAX_PAGE_PLANTS);
  const { cursor, view } = request;
  // The rows are gone before the client reads: only the answer counts.
  const { principal, signal } = call;
  const list = await plants.openList({ limit, cursor, view }, { principal, signal });
  return Symbol.iterator in list.plants ? shortPage(list) : pageOf(await beyondFirstPage(list.plants), list);
}

/** Returns the same message for the same list, so that its encoding can be cached. */
const shortPage = derivedOnce((list: PlantList) => Object.freeze(pageOf(list.plants as readonly PlantRow[], list)));

function pageOf(
  rows: readonly PlantRow[],
  { nextCursor, isFull }: Pick<PlantList, 'nextCursor' | 'isFull'>,
): ListPlantsResponse {
  const page = pages(rows).next().value ?? [];
  return create(ListPlantsResponseSchema, {
    plants: page.map(isFull ? fullPlant : basicPlant),
    nextCursor: page.length < rows.length ? cursorAfter(page) : nextCursor,
  });
}

async function* streamPages(
  plants: PlantsService,
  { cursor, view }: StreamPlantsRequest,
  call: StreamingCall,
): AsyncGenerator<StreamPlantsResponse> {
  const list = await plants.openList({ cursor, view }, call);
  const plantOf = list.isFull ? fullPlant : basicPlant;
  for await (const batch of batches(list))
    for (const page of pages(batch))
      yield create(StreamPlantsResponseSchema, { plants: page.map(plantOf), nextCursor: cursorAfter(page) });
}

const batches = ({ plants }: PlantList) => (Symbol.iterator in plants ? [plants] : plants);

const cursorAfter = (page: readonly PlantRow[]): string => encodeCursor(page.at(-1)!.id);
