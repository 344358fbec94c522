import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { ERRORS, type Reason } from '../../src/domain/errors.ts';
import { client } from '../support/http.ts';
import { frame, rawCall, rawSession } from '../support/raw-grpc.ts';
import type { Answer } from './attacks/attack.ts';
import type { Scene } from './attacks/scene.ts';
import { type Door, observe, startTrusting } from './doors.ts';

const LIST = '/plantstore.v1.PlantStoreService/ListPlants';

/** The HTTP status of an error is told by its reason: gRPC and Connect have fewer codes. */
const statusOf = (reason: string): number => ERRORS[reason as Reason].status;

/** Connect on the running service: each request tries to list plants. */
export async function openConnect(scene: Scene): Promise<Door> {
  const service = await startTrusting(scene);
  const send = client(service.url);
  return {
    async send({ headers }) {
      const outgoing = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
      );
      const reply = await send('POST', LIST, { headers: outgoing, body: '{}' });
      const wwwAuthenticate = reply.headers['www-authenticate'];
      const { details } = JSON.parse(reply.text);
      return { status: details === undefined ? reply.status : statusOf(details[0].debug.reason), wwwAuthenticate };
    },
    answerTo: ({ expect: { status, wwwAuthenticate }, expectOverHttp }) =>
      expectOverHttp ?? { status, wwwAuthenticate },
    ...observe(service),
  };
}

/** gRPC on the running service: each request tries to list plants. */
export async function openGrpc(scene: Scene): Promise<Door> {
  const service = await startTrusting(scene);
  const answer = (status: number): Answer => ({ status, wwwAuthenticate: undefined });
  return {
    async send({ headers }) {
      // An attack may end its connection.
      const session = rawSession(service.grpcUrl);
      const { status, details, reset } = await rawCall(
        session,
        headers as Record<string, string>,
        frame(Buffer.alloc(0)),
      );
      session.destroy();
      if (reset !== undefined) return answer(400);
      if (status === 0) return answer(200);
      const [info] = fromBinary(StatusSchema, details!).details;
      return answer(statusOf(anyUnpack(info!, ErrorInfoSchema)!.reason));
    },
    answerTo: ({ expect: { status }, expectOverHttp }) => answer(expectOverHttp?.status ?? status),
    ...observe(service),
  };
}
