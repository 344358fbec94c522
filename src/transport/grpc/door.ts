import type { Authenticator } from '../../auth/authenticator.ts';
import type { Admission } from '../admission/admission.ts';

/** How the calls of a service come in. */
export interface Door {
  readonly admission: Pick<Admission, 'enter'>;
  /** Who a caller is, by the metadata alone. Without it anybody may call, and a connection stands for an owner. */
  readonly authenticate?: Authenticator['authenticate'];
  /** Most bytes of a message, packed and unpacked, where it is not the server's own limit. */
  readonly maxMessage?: number;
  /** Whether the request has to come to its end soon; not so where it is a stream that lasts. */
  readonly awaitsRest: boolean;
}
