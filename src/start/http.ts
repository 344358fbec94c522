import type { FastifyInstance } from 'fastify';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { Authenticate } from '../auth/authenticator.ts';
import type { Config } from '../config.ts';
import type { PlantsService } from '../plants/service.ts';
import { closeWide, DRAIN_LIMIT, listenWide } from '../transport/listeners.ts';
import { registerRest } from '../transport/rest/rest.ts';

/** Adds the REST interface of the plants. */
export function registerPlants(app: FastifyInstance, plants: PlantsService, authenticate: Authenticate): void {
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
}

/** Listens, and resolves with the URL. */
export async function listen(app: FastifyInstance, { host, port }: Pick<Config, 'host' | 'port'>): Promise<string> {
  await app.ready();
  const address = await listenWide(app.server, host, port);
  // All addresses of the machine: a browser needs one of them.
  return `http://${address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:')}`;
}

/** Accepts nothing more, and resolves once the requests in flight have ended or their connections are closed. */
export async function drain(app: FastifyInstance): Promise<void> {
  using _limit = setTimeout(() => app.server.closeAllConnections(), DRAIN_LIMIT);
  await Promise.all([app.close(), closeWide(app.server)]);
}
