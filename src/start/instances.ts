import type { IncomingHttpHeaders } from 'node:http2';
import type { Config } from '../config.ts';
import type { ForwardingOptions } from '../log/forward/forwarding.ts';
import type { Receiver } from '../log/forward/receiver.ts';
import type { EventLog } from '../log/log.ts';
import type { Logger } from '../observe/logger.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import type { Tracing } from '../observe/tracing.ts';
import { addressOf, leafCertificate, selfSigned } from '../transport/forward/contact.ts';
import { linksOf } from '../transport/forward/link.ts';
import { addForwarding, SECRET } from '../transport/forward/service.ts';
import { type FollowedCertificates, type Identity, refusalAsClient } from '../transport/grpc/certificates.ts';
import type { Registry } from '../transport/grpc/definition.ts';

/** The way to the other instances of the log. Undefined on SQLite, which serves a single process. */
export function instancesOf(
  config: Config,
  logger: Logger,
  telemetry: Telemetry,
  tracing: Tracing | undefined,
  log: EventLog,
  tls: FollowedCertificates | undefined,
) {
  const { mongodbUri, advertiseAddress, grpcTls } = config;
  if (mongodbUri === undefined) return undefined;
  const made = tls ? undefined : selfSigned();
  const identity = (): Identity => made ?? tls!.current;
  const warn = (refusal: string | undefined) => refusal && logger.warn(refusal);
  // The gRPC port tells of files that cannot be used.
  if (grpcTls !== undefined) refusalAsClient(grpcTls).then(warn, () => {});
  let receiver: Receiver | undefined;
  return {
    /** Made for this instance. The gRPC port shows it to the others if it has no TLS of its own; see createListener. */
    made,
    /** Adds the service that takes the commands of the others. It takes none before `join`. */
    addTo: (server: Registry) => addForwarding(server, () => receiver!),
    /** Whether a call's metadata show the secret of the lease that this instance holds. */
    isInstance: (headers: IncomingHttpHeaders) => receiver?.admits(String(headers[SECRET] ?? '')) === true,
    /** Joins the others: from now on one instance writes. `address`: where the gRPC port listens. */
    join: (address: string) => {
      receiver = log.join({
        contact: () => ({ address: advertiseAddress ?? addressOf(address), certificate: leafCertificate(identity()) }),
        openLink: linksOf(identity),
        observer: telemetry.forwarding,
        traced: tracing && ((submit) => tracing.taken(submit)),
        onFault: telemetry.storeFault,
        onReachable: toldOnce(logger),
      });
    },
  };
}

/** Logs when the writer can be reached, and the first time that it cannot since then. */
function toldOnce(logger: Logger): ForwardingOptions['onReachable'] {
  let unreachable = false;
  return (writer, fault) => {
    if (fault === undefined) logger.info({ writer }, 'commands are forwarded to the writer');
    else if (!unreachable)
      logger.warn(
        { writer, err: fault },
        "the writer cannot be reached: this instance writes by itself; check the writer's ADVERTISE_ADDRESS, the network and, with GRPC_TLS_CLIENT_CA, whether GRPC_TLS_CERT may be a client's",
      );
    unreachable = fault !== undefined;
  };
}
