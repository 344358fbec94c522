import { AuditService } from '../../gen/plantstore/v1/audit_service_pb.ts';
import { ErasureService } from '../../gen/plantstore/v1/erasure_service_pb.ts';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { type Findings, implementAudit } from '../audit/service.ts';
import type { ScopePolicy } from '../auth/scopes.ts';
import type { Service } from '../call.ts';
import type { Config } from '../config.ts';
import { implementErasure } from '../erasure/service.ts';
import type { OpenedLog } from '../log/open.ts';
import { implementPlantStore } from '../plants/implementation.ts';
import { Receipts } from '../plants/receipts.ts';
import type { PlantsService } from '../plants/service.ts';
import type { Semaphore } from '../semaphore.ts';
import { topicChecks } from './publication.ts';
import type { Transparency } from './transparency.ts';

/** The services of Connect and gRPC. `onVerdict` is called with what each verification finds. */
export function servicesOf(
  config: Config,
  { store, log }: OpenedLog,
  scopes: ScopePolicy,
  plants: PlantsService,
  { tree, key, signed, checkpoints }: Transparency,
  proofs: Semaphore,
  onVerdict: (found: Findings) => void,
): Service[] {
  const receipts = new Receipts({
    ...{ store, tree, checkpoints, scopes, proofs },
    head: () => log.head(),
  });
  return [
    { desc: PlantStoreService, methods: implementPlantStore(plants, receipts) },
    {
      desc: AuditService,
      methods: implementAudit({
        ...{ log, store, scopes, key, onVerdict },
        checkpoints: signed,
        checks: () => topicChecks(config),
      }),
    },
    { desc: ErasureService, methods: implementErasure({ log, scopes }) },
  ];
}
