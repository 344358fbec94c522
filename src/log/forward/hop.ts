import type { Command } from '../../domain/decider.ts';
import type { PlantStoreError } from '../../domain/errors.ts';
import type { Contact } from '../store.ts';

/** A command on its way to the writer. The sending instance has authenticated its caller and validated its values. */
export interface ForwardedCommand {
  /** Identifies the command on its link: 1, 2, 3, ... */
  readonly number: number;
  readonly command: Command;
  readonly eventId: string;
  /** Milliseconds until the command is given up. */
  readonly timeLeft: number;
}

/** Commands that are sent together. */
export interface ForwardedBatch {
  /** The writer decides them only while no other instance has appended after this position; see Terms.onlyAfter. */
  readonly after: number;
  readonly commands: readonly ForwardedCommand[];
}

/** The outcome of a command. */
export type CommandOutcome =
  | { readonly kind: 'applied'; readonly number: number; readonly position: number; readonly eventId: string }
  | { readonly kind: 'refused'; readonly number: number; readonly error: PlantStoreError }
  /** The command was not applied and will not be. The sender may send it again, unless the writer leaves. */
  | { readonly kind: 'returned'; readonly number: number };

/** The writer's messages: one at the start, at least four a second, and one whenever there are outcomes. */
export interface Answers {
  /** The log's end when the message was made, as far as the writer knew. */
  readonly position: number;
  readonly outcomes: readonly CommandOutcome[];
  /** The writer is about to give up its role. It answers what it has and wants no more commands. */
  readonly leaving: boolean;
}

/** A link to the writer, over which one instance sends commands. */
export interface Link {
  /** Sends commands. Who sends bounds how many are unanswered. */
  send(batch: ForwardedBatch): void;
  /** Sends nothing more. The link ends once the writer has answered every command. */
  finish(): void;
  /** Ends the link at once. */
  close(): void;
}

/** Receives the events of a link. Nothing follows `ended`. */
export interface LinkListener {
  answered(answers: Answers): void;
  /** Called once, with the fault if there was one. */
  ended(fault: unknown): void;
}

/** Opens a link to an instance. The link's first answers, or its end, show whether the instance can be reached. */
export type OpenLink = (to: Contact, listener: LinkListener) => Link;

/** Milliseconds between two messages of the writer, with or without outcomes. */
export const HEARTBEAT = 250;
