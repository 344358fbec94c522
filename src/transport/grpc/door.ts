import type { Authenticator } from '../../auth/authenticator.ts';
import type { Admission } from '../admission/admission.ts';

/** How calls of a service enter. */
export interface Door {
  readonly admission: Pick<Admission, 'enter'>;
  /**
   * Authenticates a caller by the metadata alone. Without it anyone may call, and each connection counts as an owner.
   */
  readonly authenticate?: Authenticator['authenticate'];
  /** Most bytes of a message, compressed and decompressed, if different from the server's limit. */
  readonly maxMessage?: number;
  /** Whether the request must be complete soon. False for a stream of requests that lasts. */
  readonly awaitsRest: boolean;
}
