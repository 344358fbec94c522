import type { FastifyInstance } from 'fastify';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Config } from '../config.ts';
import type { EventLog } from '../log/log.ts';
import type { PlantsService } from '../plants/service.ts';
import type { Semaphore } from '../semaphore.ts';
import {
  type InstanceOptions,
  registerConsole,
  registerFrontPage,
  registerInstance,
} from '../transport/console/console.ts';
import { registerTransparencyLog } from '../transport/http/transparency-log.ts';
import { registerDocumentation } from '../transport/openapi/document.ts';
import { registerRest } from '../transport/rest/rest.ts';
import type { Transparency } from './transparency.ts';

/** Milliseconds for requests in flight to end once the service stops. Their connections are then closed. */
const DRAIN_LIMIT = 10_000;

/** Adds the REST interface of the plants, and its documentation. */
export function registerPlants(
  app: FastifyInstance,
  plants: PlantsService,
  authenticate: Authenticator['authenticate'],
): void {
  registerRest(app, {
    service: PlantStoreService,
    methods: {
      createPlant: plants.createPlant.bind(plants),
      getPlant: plants.getPlant.bind(plants),
      listPlants: plants.openList.bind(plants),
      deletePlant: plants.deletePlant.bind(plants),
    },
    watches: { listPlants: plants.watchPlants.bind(plants) },
    authenticate,
  });
  registerDocumentation(app, PlantStoreService);
}

/** Adds what people look at: the console, to which `/` leads, and the state of this instance in it. */
export function registerPages(app: FastifyInstance, config: Config, instance: InstanceOptions): void {
  const { ownerClaim, requiredScopes, publicLog } = config;
  registerFrontPage(app);
  registerConsole(app, { ownerClaim, requiredScopes, publicLog });
  registerInstance(app, instance);
}

/** Adds `/log`, for everybody's verifiers. */
export function registerLog(app: FastifyInstance, log: EventLog, transparency: Transparency, proofs: Semaphore): void {
  const { tree, key, signed, cosigned } = transparency;
  registerTransparencyLog(app, {
    knownHead: () => log.status.head,
    head: () => log.head(),
    tree,
    checkpoints: cosigned ?? signed,
    key,
    proofs,
  });
}

/** Listens, and resolves with the URL. Fastify's own listen would log a line in another form. */
export async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  const { level } = app.log;
  app.log.level = 'silent';
  try {
    return await app.listen({ host, port });
  } finally {
    app.log.level = level;
  }
}

/** Accepts nothing more, and resolves once the requests in flight have ended or their connections are closed. */
export async function drain(app: FastifyInstance): Promise<void> {
  const limit = setTimeout(() => app.server.closeAllConnections(), DRAIN_LIMIT);
  await app.close();
  clearTimeout(limit);
}
