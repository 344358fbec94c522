import type { FastifyInstance } from 'fastify';
import { AuditService } from '../gen/plantstore/v1/audit_service_pb.ts';
import { ErasureService } from '../gen/plantstore/v1/erasure_service_pb.ts';
import { PlantStoreService } from '../gen/plantstore/v1/plant_store_service_pb.ts';
import { implementAudit } from './audit/service.ts';
import { type Authenticator, createAuthenticator } from './auth/authenticator.ts';
import { DEVELOPMENT_ISSUER, openDevelopmentIssuer } from './auth/development.ts';
import { RemoteKeySet } from './auth/keys/jwks.ts';
import type { KeySet } from './auth/keys/key-set.ts';
import { limitRate } from './auth/rate-limit.ts';
import { createScopePolicy } from './auth/scopes.ts';
import type { Config } from './config.ts';
import { implementErasure } from './erasure/service.ts';
import { examineGrpcTls } from './grpc-tls.ts';
import type { ForwardingOptions } from './log/forward/forwarding.ts';
import type { Taker } from './log/forward/taker.ts';
import type { EventLog } from './log/log.ts';
import { UnsuitableDatabaseError } from './log/mongo/connection/unsuitable-database.ts';
import { openWhenReachable, type StoreToOpen } from './log/open.ts';
import { lockDataDirectory } from './log/sqlite/lock.ts';
import { openSqlite } from './log/sqlite/store.ts';
import { LogChangedError } from './log/tail/log-changed.ts';
import { MAX_UNBUILT, Tree } from './log/tree/tree.ts';
import { startAdminServer } from './observe/admin.ts';
import type { Health, Readiness } from './observe/health.ts';
import { instanceReport } from './observe/instance-report.ts';
import type { LogOutput } from './observe/log-output.ts';
import type { Logger } from './observe/logger.ts';
import { createTelemetry, type Sources, type Telemetry } from './observe/telemetry.ts';
import { startTracing } from './observe/tracing/start-tracing.ts';
import type { Tracing } from './observe/tracing/tracing.ts';
import { implementPlantStore } from './plants/implementation.ts';
import { Receipts } from './plants/receipts.ts';
import { PlantsService } from './plants/service.ts';
import { Watches } from './plants/watch/watches.ts';
import { startPublication, topicChecks } from './publication.ts';
import type { PublisherThread } from './publisher/thread.ts';
import { CheckedTiles } from './transparency/checked-tiles.ts';
import { LogCheckpoints } from './transparency/checkpoints.ts';
import { CosignedCheckpoints } from './transparency/cosigned-checkpoints.ts';
import { logKeyOnDemand } from './transparency/log-key.ts';
import { WitnessClient } from './transparency/witness-client.ts';
import { Admission } from './transport/admission/admission.ts';
import { registerConnect } from './transport/connect/connect.ts';
import { registerConsole } from './transport/console/console.ts';
import { registerFrontPage } from './transport/console/front-page.ts';
import { registerInstance } from './transport/console/instance.ts';
import { stopping } from './transport/failure.ts';
import { addressOf, identityFrom, leafOf } from './transport/forward/contact.ts';
import { linksOf } from './transport/forward/link.ts';
import { addForwarding } from './transport/forward/service.ts';
import { createGrpcServer } from './transport/grpc/server.ts';
import { allowOrigins } from './transport/http/cors.ts';
import { Guard } from './transport/http/guard.ts';
import { createHttpServer } from './transport/http/server.ts';
import { registerTransparencyLog } from './transport/http/transparency-log.ts';
import { registerDocumentation } from './transport/openapi/documentation.ts';
import { registerRest } from './transport/rest/rest.ts';
import { welcome } from './start/welcome.ts';

/** Milliseconds for requests in flight to end once the service stops. Their connections are then closed. */
const DRAIN_LIMIT = 10_000;
/**
 * Milliseconds of DRAIN_LIMIT for streams to end. The rest is for their final status, which sends clients elsewhere.
 */
const STREAM_LIMIT = 9_000;
/** Seconds for which the token in the welcome is valid. */
const WELCOME_TTL = 3600;
/** The scopes of that token: everything the console shows. */
const WELCOME_SCOPE = 'plants:read plants:write plants:audit';

/** The readiness of a dependency that is still starting. */
export const STARTING: Readiness = { ready: false, detail: 'starting' };

/** What has been started so far. */
export interface Parts {
  readonly output: LogOutput;
  log?: EventLog;
  /** The reason why the store cannot be reached, while it cannot. */
  storeFault?: unknown;
  telemetry?: Telemetry;
  publication?: PublisherThread;
  keys?: KeySet;
  authenticator?: Authenticator;
  watches?: Watches;
  cosigning?: CosignedCheckpoints;
  admission?: Admission;
  app?: FastifyInstance;
}

/**
 * Whether the store can be used. A broken log makes it degraded, and not unready: lists and commands need neither the
 * events nor the nodes that are broken. Every other instance has the same log, so one request for a proof, which needs
 * no token, would make all of them unready.
 */
export function storeReadiness({ log, storeFault, telemetry }: Parts): Readiness {
  if (storeFault instanceof LogChangedError) return { ready: false, detail: storeFault.message };
  if (storeFault !== undefined) return { ready: false, detail: 'the store cannot be reached; the log says why' };
  if (log === undefined) return STARTING;
  const broken = telemetry?.brokenLog;
  return broken === undefined ? { ready: true } : { ready: true, degraded: true, detail: broken.message };
}

/**
 * The store that the settings name: MongoDB, whose driver is loaded only then, or SQLite in the data directory, which
 * is locked for this process.
 */
function storeOf({ mongodbUri, strictReads, dataDirectory }: Config, opened: AsyncDisposableStack): StoreToOpen {
  if (mongodbUri !== undefined)
    return {
      open: async () => {
        const { openMongo } = await import('./log/mongo/open.ts');
        return openMongo(mongodbUri, { strictReads });
      },
      isFinal: (error) => error instanceof UnsuitableDatabaseError,
    };
  const unlock = lockDataDirectory(dataDirectory);
  opened.defer(async () => unlock());
  return { open: async () => openSqlite(dataDirectory, { alone: true }), isFinal: () => true };
}

/**
 * Builds the service from its parts, from the inside out, and resolves when it listens. It stores each part in `parts`,
 * and its release in `opened`, as soon as the part exists. Rejects when it cannot start.
 */
export async function start(
  config: Config,
  logger: Logger,
  health: Health,
  parts: Parts,
  opened: AsyncDisposableStack,
): Promise<void> {
  const { host, ownerClaim } = config;
  if (config.grpcTls !== undefined) examineGrpcTls(config.grpcTls);
  const tracing = config.tracing && (await startTracing(logger, config.tracing.serviceName));
  if (tracing) opened.defer(() => tracing.close());
  const sources: Sources = {
    log: () => parts.log?.status,
    storeReachable: () => storeReadiness(parts).ready,
    authentication: () =>
      parts.authenticator &&
      parts.keys && { cacheHits: parts.authenticator.cacheHits, ready: parts.keys.ready().ready },
    listCache: () => parts.log?.listCache,
    watches: () => parts.watches?.statistics,
    admission: () => parts.admission,
    publication: () => parts.publication?.stats(),
    cosigning: () => parts.cosigning?.status,
    output: parts.output,
  };
  const telemetry = createTelemetry(logger, config.logOwner, tracing, sources);
  parts.telemetry = telemetry;
  const admin = await startAdminServer(health, config.adminHost, config.adminPort, telemetry.metrics);
  opened.defer(() => admin.close());

  const stopped = new AbortController();
  opened.defer(async () => stopped.abort());
  const { store, log } = await openWhenReachable(
    storeOf(config, opened),
    {
      limits: { queue: config.limits.maxQueuedCommands, lists: config.limits.maxLongLists },
      listCacheBytes: config.listCacheBytes,
      onFault: telemetry.storeFault,
      observer: telemetry.log,
      onReachable: (fault) => {
        if (fault === undefined) logger.info('the store can be reached');
        else if (fault instanceof LogChangedError) logger.fatal({ err: fault }, 'the log was replaced');
        else logger.error({ err: fault }, 'the store cannot be reached');
        parts.storeFault = fault;
      },
    },
    stopped.signal,
    (fault) => {
      if (parts.storeFault === undefined) logger.error({ err: fault }, 'waiting for the store');
      parts.storeFault = fault;
    },
  );
  parts.storeFault = undefined;
  opened.defer(() => log.close());
  parts.log = log;

  const publication = startPublication(config, logger);
  if (publication !== undefined) parts.publication = opened.use(publication);

  const { token, ...issuer } = await openIssuer(config, telemetry);
  opened.defer(async () => issuer.keys.close());
  parts.keys = issuer.keys;

  parts.authenticator = createAuthenticator({ ...issuer, ownerClaim, onDecision: telemetry.decided });
  const authenticate = config.rateLimit
    ? limitRate(parts.authenticator.authenticate, config.rateLimit)
    : parts.authenticator.authenticate;
  const { authenticator } = parts;
  log.onErased((position, events) => {
    authenticator.forget();
    logger.info({ position, events }, 'an owner is erased: all that was remembered is forgotten');
  });
  log.finishErasures((err) => logger.error({ err }, 'an erasure cannot go on'));
  const scopes = createScopePolicy(config.requiredScopes, telemetry.decided);
  const watches = new Watches(log, config.limits);
  parts.watches = watches;
  const plants = new PlantsService(tracing ? tracing.commands(log) : log, scopes, watches);
  const tree = new Tree(store, MAX_UNBUILT, log.changed);
  const logKey = logKeyOnDemand(config, store);
  const signed = new LogCheckpoints({ head: () => log.head(), nodes: store.tree, tree, key: logKey });
  if (config.witnesses !== undefined) {
    parts.cosigning = new CosignedCheckpoints({
      checkpoints: signed,
      witnesses: config.witnesses.witnesses.map((witness) => new WitnessClient(witness, tree)),
      quorum: config.witnesses.quorum,
      onOutcome: telemetry.witnessed,
      onBroken: (err) => {
        telemetry.logBroken(err);
        logger.error({ err }, 'the log is broken: no checkpoint is made of it');
      },
    });
    opened.defer(() => parts.cosigning!.close());
  }
  const checkpoints = parts.cosigning ?? signed;

  const admission = new Admission(config.limits, telemetry.shed);
  parts.admission = admission;
  opened.defer(async () => admission.close());
  const guard = new Guard(admission, () => health.draining);
  const app = createHttpServer(logger, config.limits, { guard, observer: telemetry.requests });
  if (config.corsOrigins.length > 0) allowOrigins(app, config.corsOrigins);
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
  registerFrontPage(app);
  registerConsole(app, { ownerClaim, requiredScopes: config.requiredScopes, publicLog: config.publicLog });
  registerInstance(app, { authenticate, scopes, report: () => instanceReport(health, sources, telemetry) });
  if (config.publicLog)
    registerTransparencyLog(app, {
      knownHead: () => log.status.head,
      head: () => log.head(),
      tree,
      tiles: new CheckedTiles(tree, signed),
      checkpoints,
      key: logKey,
    });
  const services = [
    {
      desc: PlantStoreService,
      methods: implementPlantStore(plants, new Receipts({ store, tree, checkpoints, scopes })),
    },
    {
      desc: AuditService,
      methods: implementAudit({
        ...{ log, store, scopes },
        key: logKey,
        checkpoints: signed,
        checks: () => topicChecks(config),
      }),
    },
    {
      desc: ErasureService,
      methods: implementErasure({ log, scopes, publishes: config.kafka !== undefined }),
    },
  ];
  registerConnect(app, { services, authenticate, drainLimit: STREAM_LIMIT });
  // SQLite serves a single process.
  const joins = config.mongodbUri !== undefined;
  let taker: Taker | undefined;
  const isReady = () => health.ready;
  const grpc = createGrpcServer({
    services,
    authenticate,
    admission,
    limits: config.limits,
    logger,
    observer: telemetry.requests,
    isReady,
    ...(joins && { addInternal: (server) => addForwarding(server, () => taker) }),
    ...(config.grpcTls && { tls: config.grpcTls }),
  });
  opened.defer(async () => {
    // First: watchers reconnect elsewhere, and would only delay the end.
    watches.close(stopping());
    await Promise.all([drain(app), grpc.drain(STREAM_LIMIT)]);
  });
  const url = await listen(app, host, config.port);
  const grpcAddress = await grpc.listen(host, config.grpcPort);
  if (joins) taker = log.join(forwardingOf(config, grpcAddress, telemetry, logger, tracing));

  if (token !== undefined) parts.output.write(welcome(url, token));
  logger.info({ protocol: 'admin', address: admin.url }, 'listening');
  logger.info({ protocol: 'rest', address: url }, 'listening');
  logger.info({ protocol: 'grpc', address: grpcAddress }, 'listening');
  parts.app = app;
}

/** How this instance and the other instances of its log reach each other. */
function forwardingOf(
  { advertiseAddress, grpcTls }: Config,
  grpcAddress: string,
  telemetry: Telemetry,
  logger: Logger,
  tracing: Tracing | undefined,
): ForwardingOptions {
  const identity = grpcTls && identityFrom(grpcTls);
  const address = advertiseAddress ?? addressOf(grpcAddress);
  let unreachable = false;
  return {
    contact: () => ({ address, certificate: identity && leafOf(identity()) }),
    openLink: linksOf(identity),
    observer: telemetry.forwarding,
    traced: tracing && ((submit) => tracing.taken(submit)),
    onFault: telemetry.storeFault,
    onReachable: (writer, fault) => {
      if (fault === undefined) {
        logger.info({ writer }, 'commands go to the writer');
        unreachable = false;
      } else if (!unreachable) {
        logger.warn(
          { writer, err: fault },
          "the writer cannot be reached: this instance writes itself; check the writer's ADVERTISE_ADDRESS and the network",
        );
        unreachable = true;
      }
    },
  };
}

/** The trusted token issuer. In development mode it comes with a first token. */
async function openIssuer({ issuer: settings, dataDirectory, ownerClaim }: Config, { fetched }: Telemetry) {
  if (settings !== undefined) {
    const { jwksUrl: url, issuer, audience, maxStale } = settings;
    return { issuer, audience, keys: new RemoteKeySet({ url, maxStale, onFetch: fetched }) };
  }
  const { keys, mintToken } = await openDevelopmentIssuer(dataDirectory);
  const token = await mintToken({ owner: 'alice', ownerClaim, scope: WELCOME_SCOPE, ttl: WELCOME_TTL });
  return { issuer: DEVELOPMENT_ISSUER, audience: DEVELOPMENT_ISSUER, keys, token };
}

/** Fastify's own listen would log a line in another form. */
async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  const { level } = app.log;
  app.log.level = 'silent';
  try {
    return await app.listen({ host, port });
  } finally {
    app.log.level = level;
  }
}

async function drain(app: FastifyInstance): Promise<void> {
  const limit = setTimeout(() => app.server.closeAllConnections(), DRAIN_LIMIT);
  await app.close();
  clearTimeout(limit);
}
