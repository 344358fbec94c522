import type { PlantKey } from '../../domain/plant.ts';
import type { LoggedEvent } from '../../log/event/event.ts';

/** What is asked about a log, each with yes or no. */
export type Question =
  | 'positions'
  | 'chain'
  | 'contents'
  | 'read_model'
  | 'decisions'
  | 'storage'
  | 'tree'
  | 'checkpoint'
  | 'topic';

/** The first place where a question is answered with no. */
export interface Failure {
  /** What is wrong there, for people. */
  readonly message: string;
  /** The event that it is about. */
  readonly position?: number;
  /** The plant that it is about. */
  readonly plant?: PlantKey;
}

/** One question that is put to every event of a log while it passes by once. */
export interface Check {
  readonly question: Question;
  /** The first place found so far where the answer is no; after `finish`, undefined is yes. */
  readonly failure: Failure | undefined;
  /** Takes the next events, in the order in which the store gives them. May hold up the pass, which bounds memory. */
  take(events: readonly LoggedEvent[]): void | Promise<void>;
  /** Looks at what can be judged only after the last event. */
  finish(): void | Promise<void>;
  /** Lets go of what it holds. Called once, whatever came before. */
  close?(): Promise<void>;
}
