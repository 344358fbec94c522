import { AuditService } from '../gen/plantstore/v1/audit_service_pb.ts';
import { ErasureService } from '../gen/plantstore/v1/erasure_service_pb.ts';
import { PlantStoreService } from '../gen/plantstore/v1/plant_store_service_pb.ts';
import { type AuditOptions, implementAudit } from './audit/service.ts';
import type { Authenticator } from './auth/authenticator.ts';
import { createScopePolicy, type ScopePolicy } from './auth/principal.ts';
import type { Service } from './call.ts';
import type { Config } from './config.ts';
import { implementErasure } from './erasure/service.ts';
import type { EventLog } from './log/log.ts';
import type { OpenedLog } from './log/open.ts';
import type { Health } from './observe/health.ts';
import type { LogOutput } from './observe/log-output.ts';
import type { Logger } from './observe/logger.ts';
import { OwnerHashes } from './observe/request-log.ts';
import { sparing } from './observe/sparing.ts';
import { implementPlantStore } from './plants/implementation.ts';
import { implementReceipts } from './plants/receipts.ts';
import { PlantsService } from './plants/service.ts';
import { Watches } from './plants/watch/watches.ts';
import { Semaphore } from './semaphore.ts';
import { openAuthentication, welcome } from './start/authentication.ts';
import { certificateGauge, serviceGauges } from './start/gauges.ts';
import { drain, listen, registerPlants } from './start/http.ts';
import { instancesOf } from './start/instances.ts';
import { followOwnerKey, instanceReport, startObserving } from './start/observation.ts';
import { connectionsWithin } from './start/open-files.ts';
import { publicationReadiness, startPublication, topicChecks } from './start/publication.ts';
import { listening } from './start/start-error.ts';
import { keepOthersOut, openStore } from './start/store.ts';
import { openTransparency, type Transparency } from './start/transparency.ts';
import { Admission } from './transport/admission/admission.ts';
import { registerConnect } from './transport/connect/connect.ts';
import { registerConsole, registerInstance } from './transport/console/console.ts';
import { stopping } from './transport/failure.ts';
import { followCertificates } from './transport/grpc/certificates.ts';
import { createGrpcServer } from './transport/grpc/server.ts';
import { createHttpServer } from './transport/http/server.ts';
import { registerTransparencyLog } from './transport/http/transparency-log.ts';
import { reportCrowd, STREAM_LIMIT } from './transport/listeners.ts';

/** Bounds the work on proofs and tiles. Readers of the public log share the permits of one owner. */
const PROOFS = { permits: 4, share: 2, maxWaiting: 256 };

/**
 * Builds the service from its parts, from the inside out, and resolves with the log when it listens. It stores the
 * release of each part in `opened`, and its check in `health`, as soon as the part exists. Rejects when it cannot
 * start.
 */
export async function start(
  config: Config,
  logger: Logger,
  output: LogOutput,
  health: Health,
  opened: AsyncDisposableStack,
): Promise<EventLog> {
  const tls = config.grpcTls && opened.use(followCertificates(config.grpcTls, logger));
  keepOthersOut(config.dataDirectory, logger);
  const owners = new OwnerHashes();
  const { tracing, telemetry, adminUrl } = await startObserving(config, logger, health, output, owners, opened);
  const { metrics } = telemetry;
  certificateGauge(metrics, tls);
  const { store, log } = await openStore(config, logger, telemetry, opened);
  if (config.logOwner) await followOwnerKey(owners, { store, log }, telemetry.storeFault);
  const publication = opened.use(startPublication(config, logger));
  if (publication !== undefined) health.set('kafka', () => publicationReadiness(publication.status()));
  const { keys, authenticator, token } = await openAuthentication(config, telemetry, opened);
  const { authenticate } = authenticator;
  health.set('issuer', () => keys.ready());
  followErasures(log, authenticator, logger);

  const scopes = createScopePolicy(config.requiredScopes, telemetry.decided);
  const watches = new Watches(log, config.limits);
  const plants = new PlantsService(tracing ? tracing.commands(log) : log, scopes, watches);
  const transparency = openTransparency(config, logger, telemetry, { store, log }, opened);
  const proofs = new Semaphore({ ...PROOFS, maxWait: config.limits.maxWait });
  const services = servicesOf(config, { store, log }, scopes, plants, transparency, proofs, telemetry.verified);

  const maxConnections = connectionsWithin(config.limits.maxConnections, logger);
  const crowded = reportCrowd(maxConnections, logger);
  const admission = new Admission({ ...config.limits, maxConnections }, telemetry.shed, crowded);
  serviceGauges(metrics, admission, watches, publication);
  const isDraining = () => health.draining;
  const { corsOrigins } = config;
  const app = createHttpServer(logger, config.limits, {
    ...{ admission, isDraining, corsOrigins },
    observer: telemetry.requests,
  });
  registerPlants(app, plants, authenticate);
  registerConsole(app, config);
  registerInstance(app, { authenticate, scopes, report: () => instanceReport(health, metrics) });
  if (config.publicLog) registerTransparencyLog(app, { ...transparency, log, proofs });
  registerConnect(app, { services, authenticate, drainLimit: STREAM_LIMIT });
  const instances = instancesOf(config, logger, telemetry, tracing, log, tls);
  const grpc = createGrpcServer({
    services,
    authenticate,
    admission,
    limits: config.limits,
    logger,
    observer: telemetry.requests,
    isReady: () => health.ready,
    ...(instances && { addInternal: instances.addTo, isInstance: instances.isInstance }),
    tls,
    identity: instances?.made,
  });
  opened.defer(async () => {
    // First: watchers reconnect elsewhere, and would only delay the end.
    watches.close(stopping());
    await Promise.all([drain(app), grpc.drain(STREAM_LIMIT)]);
  });
  const { host, port, grpcPort } = config;
  const url = await listening(['PORT', port], ['HOST', host], () => listen(app, config));
  const grpcAddress = await listening(['GRPC_PORT', grpcPort], ['HOST', host], () => grpc.listen(host, grpcPort));
  instances?.join(grpcAddress);

  if (token !== undefined) output.print(welcome(url, token, config.dataDirectory));
  for (const [protocol, address] of Object.entries({ admin: adminUrl, rest: url, grpc: grpcAddress }))
    logger.info({ protocol, address }, 'listening');
  health.set('rest', () => ({ ready: true }));
  return log;
}

/** Forgets what is remembered of an owner who is erased, and completes the erasures that were under way. */
function followErasures(log: EventLog, authenticator: Authenticator, logger: Logger): void {
  log.onErased((position, events) => {
    authenticator.forget();
    logger.info({ position, events }, 'an owner was erased: all data in memory is read again');
  });
  log.finishErasures(sparing((fault) => logger.error(fault, 'an erasure is stuck')));
}

/** The services of Connect and gRPC. `onVerdict` is called with what each verification finds. */
function servicesOf(
  config: Config,
  { store, log }: OpenedLog,
  scopes: ScopePolicy,
  plants: PlantsService,
  { tree, key, signed, checkpoints }: Transparency,
  proofs: Semaphore,
  onVerdict: AuditOptions['onVerdict'],
): Service[] {
  const receipts = implementReceipts({
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
        checks: () => topicChecks(config, store),
      }),
    },
    { desc: ErasureService, methods: implementErasure(log, scopes) },
  ];
}
