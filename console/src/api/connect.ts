import { type Client, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { AuditService } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { refused, session } from '../session.ts';

/** Sends the token, and notices when the service refuses it. */
const authorize: Interceptor = (next) => async (request) => {
  const token = session.peek()?.token;
  if (token !== undefined) request.header.set('authorization', `Bearer ${token}`);
  const notice = (error: unknown): never => {
    if (error instanceof ConnectError && error.code === Code.Unauthenticated) refused(token, error.rawMessage);
    throw error;
  };
  const response = await next(request).catch(notice);
  return response.stream ? { ...response, message: noticed(response.message, notice) } : response;
};

/** The same messages. Gives notice of the error that ends them. */
async function* noticed<Message>(
  messages: AsyncIterable<Message>,
  notice: (error: unknown) => never,
): AsyncIterable<Message> {
  try {
    yield* messages;
  } catch (error) {
    notice(error);
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
