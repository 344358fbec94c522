import type { PlantEvent } from '../../domain/events.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { LiveStep, Step } from './step.ts';

/** A place in what a channel has told: behind a step, or at the beginning. It holds on to what comes after it, and to nothing before. */
export interface Mark {
  /** The step before it; undefined at the beginning. */
  step: LiveStep | undefined;
  /** Bytes of all steps up to here. */
  readonly bytes: number;
  next: Mark | undefined;
}

/** Who is told that there is more in a channel. */
export interface Hearer {
  deliver(): void;
}

/** What happened to a plant, in its place in the log. */
export interface PositionedEvent extends Pick<LoggedEvent, 'position'> {
  readonly event: PlantEvent;
}

/** Bytes of a step beside its text. */
const STEP_OVERHEAD = 64;

/** What happens to the plants of one owner, told to all who watch them: each reads on from its own mark in one chain of steps. */
export class Channel {
  readonly owner: string;
  /** Those who read it. */
  readonly hearers = new Set<Hearer>();
  #end: Mark = { step: undefined, bytes: 0, next: undefined };
  /** What was last read, from where to where: those who stand at the same mark share it. */
  #last: { readonly from: Mark; readonly to: Mark; readonly steps: readonly Step[] } | undefined;

  constructor(owner: string) {
    this.owner = owner;
  }

  /** Behind the last step. */
  get end(): Mark {
    return this.#end;
  }

  /** Tells an event of the owner. */
  tell(event: PositionedEvent): void {
    const step = stepOf(event);
    const mark = { step, bytes: this.#end.bytes + stepBytes(step), next: undefined };
    this.#end.next = mark;
    this.#end = mark;
    this.#last = undefined;
  }

  /** Lets go of the last step, and of what was last read, which nobody needs who has read to the end. */
  forget(): void {
    this.#last = undefined;
    this.#end.step = undefined;
  }

  /** The steps from a mark to the end: the same array for the same mark and end. */
  after(from: Mark): readonly Step[] {
    if (this.#last?.from === from && this.#last.to === this.#end) return this.#last.steps;
    const steps: Step[] = [];
    for (let mark = from.next; mark !== undefined; mark = mark.next) steps.push(mark.step!);
    this.#last = { from, to: this.#end, steps };
    return steps;
  }
}

/** The step that tells an event. */
export const stepOf = ({ position, event }: PositionedEvent): LiveStep =>
  event.type === 'PlantAdded'
    ? { type: 'added', position, plant: { id: event.plantId, name: event.name, tag: event.tag } }
    : { type: 'deleted', position, id: event.plantId };

const stepBytes = (step: LiveStep): number =>
  STEP_OVERHEAD +
  (step.type === 'added' ? Buffer.byteLength(step.plant.name) + Buffer.byteLength(step.plant.tag ?? '') : 0);
