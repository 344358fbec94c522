import { ServerInterceptingCall, type ServerInterceptor, type StatusObject } from '@grpc/grpc-js';
import { PlantStoreError } from '../../domain/errors.ts';
import { type Admission, OVERLOADED } from '../admission.ts';

/** Who is let in, and how long a call may keep the server waiting. */
export interface GuardOptions {
  readonly admission: Pick<Admission, 'enter'>;
  /** Seconds in which a request must have arrived whole. */
  readonly requestTimeout: number;
  /** Seconds in which its client must have taken the end of the answer. */
  readonly idleTimeout: number;
  /** The status for anything thrown. */
  readonly statusOf: (thrown: unknown) => StatusObject;
  /** Ends the connection of a peer: grpc-js cannot make a single stream let go of what it holds. */
  readonly breakOff: (peer: string) => void;
}

/** Milliseconds that the status of a late call has to reach its caller. */
const FAREWELL = 200;

/** Services of gRPC's own: health, which has to answer whatever the load, and reflection, whose requests are streams. */
const STANDARD = '/grpc.';

/**
 * Guards every call but those of gRPC's own services: it is let in, or refused with OVERLOADED, before its message is read, and
 * has its place until it is over. A client that does not send the rest of its request, or does not take the end of its answer,
 * loses its connection.
 */
export function guard(options: GuardOptions): ServerInterceptor {
  const { admission, requestTimeout, idleTimeout, statusOf, breakOff } = options;
  const overloaded = statusOf(OVERLOADED);
  return ({ path, responseStream }, call) => {
    if (path.startsWith(STANDARD)) return new ServerInterceptingCall(call);
    let place: Disposable | undefined;
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    const end = () => breakOff(call.getPeer());
    const awaitEnd = () => {
      clearTimeout(timer);
      timer = setTimeout(end, idleTimeout * 1_000);
    };
    const late = () => {
      call.sendStatus(statusOf(new PlantStoreError('REQUEST_TIMEOUT', 'the request took too long to arrive')));
      setTimeout(end, FAREWELL);
    };
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, receive) => {
            const admit = (given: Disposable) => {
              // Its client may have given up while it waited.
              if (isOver) {
                given[Symbol.dispose]();
                return;
              }
              place = given;
              timer = setTimeout(late, requestTimeout * 1_000);
              receive(metadata);
            };
            admission.enter('grpc', admit, () => {
              if (!isOver) call.sendStatus(overloaded);
            });
          },
          onReceiveHalfClose: (receive) => {
            clearTimeout(timer);
            receive();
          },
          // At the end of every call, however it ends.
          onCancel: () => {
            isOver = true;
            clearTimeout(timer);
            place?.[Symbol.dispose]();
          },
        }),
      // Of a stream, each message is waited for by who sends it.
      sendMessage: (message, next) => {
        if (!responseStream) awaitEnd();
        next(message);
      },
      sendStatus: (status, next) => {
        awaitEnd();
        next(status);
      },
    });
  };
}
