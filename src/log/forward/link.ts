import type { ForwardRequest, ForwardResponse } from '../../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import type { Contact } from '../store.ts';

/** A link to the writer, over which one instance sends commands. Its messages are those of forwarding_service.proto. */
export interface Link {
  /** Sends commands. Who sends bounds how many are unanswered. */
  send(request: ForwardRequest): void;
  /** Sends nothing more. The link ends once the writer has answered every command. */
  finish(): void;
  /** Ends the link at once. */
  close(): void;
}

/** Receives the events of a link. Nothing follows `ended`. */
export interface LinkListener {
  /** Throws on an outcome of a kind unknown to this release. */
  answered(response: ForwardResponse): void;
  /** Called once, with the fault if there was one. */
  ended(fault: unknown): void;
}

/** Opens a link to an instance. The link's first response, or its end, shows whether the instance can be reached. */
export type OpenLink = (to: Contact, listener: LinkListener) => Link;

/** Milliseconds between two messages of the writer, with or without outcomes. */
export const HEARTBEAT = 250;
