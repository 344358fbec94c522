import { type Client, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { AuditService } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { refused, session } from '../session.ts';

/** Sends the token, and notices when the service refuses it. */
const authorize: Interceptor = (next) => async (request) => {
  const token = session.peek()?.token;
  if (token !== undefined) request.header.set('authorization', `Bearer ${token}`);
  const noticed = (error: unknown): unknown => {
    if (error instanceof ConnectError && error.code === Code.Unauthenticated) refused(token, error.rawMessage);
    return error;
  };
  try {
    const response = await next(request);
    return response.stream ? { ...response, message: noticing(response.message, noticed) } : response;
  } catch (error) {
    throw noticed(error);
  }
};

/** The same messages. Notices the error that ends them. */
async function* noticing<Message>(
  messages: AsyncIterable<Message>,
  noticed: (error: unknown) => unknown,
): AsyncIterable<Message> {
  try {
    yield* messages;
  } catch (error) {
    throw noticed(error);
  }
}

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [authorize],
});

/** The log, for auditors. */
export const audit: Client<typeof AuditService> = createClient(AuditService, transport);

/** The plants of the caller. */
export const plants: Client<typeof PlantStoreService> = createClient(PlantStoreService, transport);
