import type { Command } from '../../domain/decider.ts';
import type { PlantStoreError } from '../../domain/errors.ts';
import type { Contact } from '../store.ts';

/** A command on its way to the writer. Whoever took it has authenticated its caller and checked its values. */
export interface ForwardedCommand {
  /** Names it on its link: 1, 2, 3, ... */
  readonly number: number;
  readonly command: Command;
  /** Of the event that it becomes. */
  readonly eventId: string;
  /** Milliseconds after which it is given up. */
  readonly timeLeft: number;
}

/** Commands that are sent at once. */
export interface ForwardedBatch {
  /** The writer decides them only while nobody else has appended anything after this position; see Terms.onlyAfter. */
  readonly after: number;
  readonly commands: readonly ForwardedCommand[];
}

/** What became of a command. */
export type Outcome =
  | { readonly kind: 'applied'; readonly number: number; readonly position: number; readonly eventId: string }
  | { readonly kind: 'refused'; readonly number: number; readonly error: PlantStoreError }
  /** It was not applied and will not be. Its sender may send it again, if the writer does not leave. */
  | { readonly kind: 'returned'; readonly number: number };

/** What the writer says: at first, at least four times a second, and whenever there are outcomes. */
export interface Answers {
  /** Where the log ended when it was said, as far as the writer knew. */
  readonly position: number;
  readonly outcomes: readonly Outcome[];
  /** The writer is about to be the writer no longer: it answers what it has, and wants nothing more. */
  readonly leaving: boolean;
}

/** A link to the writer, over which one instance sends commands. */
export interface Link {
  /** Sends commands. False: it is full, and nothing should be sent until `drained`. */
  send(batch: ForwardedBatch): boolean;
  /** Sends nothing more; it ends once the writer has answered what it has. */
  finish(): void;
  /** Breaks it off. */
  close(): void;
}

/** What a link tells whoever opened it. Nothing after `ended`. */
export interface LinkListener {
  answered(answers: Answers): void;
  drained(): void;
  /** Once, with the fault if there was one. */
  ended(fault: unknown): void;
}

/** Opens a link to an instance. Whether it can be reached is told by its first answers, or by its end. */
export type OpenLink = (to: Contact, listener: LinkListener) => Link;

/** Milliseconds between two things that the writer says, if only that it is there. */
export const HEARTBEAT = 250;
