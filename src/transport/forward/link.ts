import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { ChannelCredentials, Client, type ClientOptions, Metadata } from '@grpc/grpc-js';
import {
  ForwardingService,
  type ForwardRequest,
  type ForwardResponse,
} from '../../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import type { OpenLink } from '../../log/forward/link.ts';
import type { Contact } from '../../log/store.ts';
import type { Identity } from '../grpc/certificates.ts';
import { definitionOf } from '../grpc/definition.ts';
import { SECRET } from './service.ts';

/** Channels are not reused: a link to a lost writer must not delay the link to the next one. */
const OPTIONS = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_http_proxy': 0,
};

/** TLS names no server by an address (RFC 6066, section 3). What it is called does not matter: see credentialsOf. */
function optionsOf(address: string): ClientOptions {
  const host = address.slice(0, address.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1');
  return isIP(host) === 0 ? OPTIONS : { ...OPTIONS, 'grpc.ssl_target_name_override': 'instance' };
}

/** Opens links over gRPC and TLS. `identity`: that of this instance. */
export function linksOf(identity: () => Identity): OpenLink {
  const { forward } = definitionOf(ForwardingService);
  const { path, requestSerialize, responseDeserialize } = forward!;
  return (to, listener) => {
    const metadata = new Metadata();
    metadata.set(SECRET, to.secret);
    const client = new Client(to.address, credentialsOf(to, identity()), optionsOf(to.address));
    const call = client.makeBidiStreamRequest<ForwardRequest, ForwardResponse>(
      path,
      requestSerialize as (message: ForwardRequest) => Buffer,
      responseDeserialize as (bytes: Buffer) => ForwardResponse,
      metadata,
    );
    let fault: unknown;
    call.on('data', (response: ForwardResponse) => {
      try {
        listener.answered(response);
      } catch (thrown) {
        fault = thrown;
        call.cancel();
      }
    });
    call.on('error', (error) => {
      fault ??= error;
    });
    // The status comes last, and once.
    call.on('status', ({ code }) => {
      client.close();
      listener.ended(code === 0 ? undefined : (fault ?? new Error(`the link ended with status ${code}`)));
    });
    return {
      send: (request) => void call.write(request),
      finish: () => call.end(),
      close: () => call.cancel(),
    };
  };
}

/**
 * Trusts exactly the certificate in the lease, whoever signed it. The database says which instance is the writer, and
 * thereby its identity. So names and addresses in certificates do not matter here. Trusts nobody if the lease has none.
 */
function credentialsOf({ certificate }: Contact, identity: Identity): ChannelCredentials {
  const context = createSecureContext({
    ca: certificate ?? [],
    allowPartialTrustChain: true,
    cert: identity.certificate,
    key: identity.key,
  });
  return ChannelCredentials.createFromSecureContext(context, { checkServerIdentity: () => undefined });
}
