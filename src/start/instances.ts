import type { Server } from '@grpc/grpc-js';
import type { Config } from '../config.ts';
import type { ForwardingOptions } from '../log/forward/forwarding.ts';
import type { Taker } from '../log/forward/taker.ts';
import type { EventLog } from '../log/log.ts';
import type { Logger } from '../observe/logger.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import type { Tracing } from '../observe/tracing/tracing.ts';
import { addressOf, identityFrom, leafCertificate } from '../transport/forward/contact.ts';
import { linksOf } from '../transport/forward/link.ts';
import { addForwarding } from '../transport/forward/service.ts';

/** The way between this instance and the others of its log. */
export interface Instances {
  /** Adds the service that takes the commands of the others. It takes none before `join`. */
  addTo(server: Server): void;
  /** Joins the others: from now on one instance writes. `address`: where the gRPC port listens. */
  join(address: string): void;
}

/** The way to the other instances of the log. Undefined on SQLite, which serves a single process. */
export function instancesOf(
  config: Config,
  logger: Logger,
  telemetry: Telemetry,
  tracing: Tracing | undefined,
  log: EventLog,
): Instances | undefined {
  if (config.mongodbUri === undefined) return undefined;
  let taker: Taker | undefined;
  return {
    addTo: (server) => addForwarding(server, () => taker),
    join: (address) => {
      taker = log.join(forwardingOf(config, address, telemetry, logger, tracing));
    },
  };
}

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
    contact: () => ({ address, certificate: identity && leafCertificate(identity()) }),
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
