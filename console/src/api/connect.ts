import { type Client, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { AuditService } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { refusal, session } from '../session.ts';

/** Sends the token, and learns when it is no longer taken. */
const authorize: Interceptor = (next) => async (request) => {
  const token = session.peek()?.token;
  if (token !== undefined) request.header.set('authorization', `Bearer ${token}`);
  try {
    return await next(request);
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.Unauthenticated && token === session.peek()?.token)
      refusal.value = error.rawMessage;
    throw error;
  }
};

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [authorize],
});

/** The log, for auditors. */
export const audit: Client<typeof AuditService> = createClient(AuditService, transport);

/** The plants of the caller. */
export const plants: Client<typeof PlantStoreService> = createClient(PlantStoreService, transport);
