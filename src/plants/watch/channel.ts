import { leavesPlant, type PlantEvent } from '../../domain/events.ts';
import { textBytes, withId } from '../../domain/plant.ts';
import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import type { PlantRow } from '../../log/store.ts';

/** A position in a channel: behind a step, or at the beginning. It keeps later steps in memory, and no earlier ones. */
export interface Mark {
  /** The step before the mark. Undefined at the beginning. */
  step: Step | undefined;
  readonly position: number;
  /** Bytes of all steps up to here, and their number. */
  readonly bytes: number;
  readonly steps: number;
  next: Mark | undefined;
}

/** A reader of a channel. */
export interface Subscriber {
  deliver(): void;
  /** What it has not read yet is void. */
  skip(): void;
}

/** A change of a plant with its position in the log. */
interface PositionedEvent extends Pick<LoggedEvent, 'position'> {
  readonly event: PlantEvent;
}

/** Bytes of a step without its text. */
const STEP_OVERHEAD = 64;
/** Bytes of memory of a step and its mark, in addition to STEP_OVERHEAD and the text. */
const STEP_MEMORY = 192;

const BEGINNING: Mark = { step: undefined, position: 0, bytes: 0, steps: 0, next: undefined };

/** Most bytes of memory of the steps from one mark to another. */
export const memoryBetween = (from: Mark, to: Mark): number =>
  to.bytes - from.bytes + STEP_MEMORY * (to.steps - from.steps);

/** The changes of one owner's plants for all watchers: each reads from its own mark in one chain of steps. */
export class Channel {
  readonly owner: string;
  readonly subscribers = new Set<Subscriber>();
  #end: Mark = { ...BEGINNING };
  /** The last read steps, with their start and end. Readers at the same mark share them. */
  #last: { readonly from: Mark; readonly to: Mark; readonly steps: readonly Step[] } | undefined;

  constructor(owner: string) {
    this.owner = owner;
  }

  get end(): Mark {
    return this.#end;
  }

  tell(event: PositionedEvent): void {
    this.#append(stepOf(event), event.position);
  }

  /** The owner was erased at a position: no step from before it stays in memory, and the state there is empty. */
  erase(position: number): void {
    // A new mark without a step: what readers hold from before keeps no step in memory.
    this.#end = { ...this.#end, step: undefined, position };
    for (const subscriber of this.subscribers) subscriber.skip();
    for (const step of erasedAt(position)) this.#append(step, position);
  }

  #append(step: Step, position: number): void {
    const { bytes, steps } = this.#end;
    const mark = { step, position, bytes: bytes + stepBytes(step), steps: steps + 1, next: undefined };
    this.#end.next = mark;
    this.#end = mark;
    this.#last = undefined;
  }

  /** The steps from a mark to the end. The same mark and end give the same array. */
  after(from: Mark): readonly Step[] {
    if (this.#last?.from === from && this.#last.to === this.#end) return this.#last.steps;
    const steps: Step[] = [];
    for (let mark = from.next; mark !== undefined; mark = mark.next) steps.push(mark.step!);
    this.#last = { from, to: this.#end, steps };
    return steps;
  }
}

/** The steps at an erasure of the owner: earlier ones are void, and there is no plant. */
const erasedAt = (position: number): readonly Step[] => [{ type: 'reset' }, { type: 'ready', position }];

/** The steps of an owner at events, of any owners. */
export function stepsOf(owner: string, events: readonly LoggedEvent[]): readonly Step[] {
  let steps: Step[] = [];
  for (const logged of events) {
    const event = plantEventOf(logged);
    if (logged.erases?.owner === owner) steps = [...erasedAt(logged.position)];
    else if (event?.owner === owner) steps.push(stepOf({ position: logged.position, event }));
  }
  return steps;
}

const stepOf = ({ position, event }: PositionedEvent): LiveStep =>
  leavesPlant(event)
    ? { type: 'added', position, plant: withId(event.plantId, event) }
    : { type: 'deleted', position, id: event.plantId };

/** Approximate bytes of a step. */
export const stepBytes = (step: Step): number => STEP_OVERHEAD + (step.type === 'added' ? textBytes(step.plant) : 0);

/** An event of the owner. All watchers get the same object, so that its encoded form can be kept. */
export type LiveStep =
  | { readonly type: 'added'; readonly plant: PlantRow; readonly position: number }
  | { readonly type: 'deleted'; readonly id: bigint; readonly position: number };

/** One step of a watch. */
export type Step =
  | LiveStep
  /** A plant of the state. */
  | { readonly type: 'added'; readonly plant: PlantRow; readonly position: undefined }
  /** The state is complete, and is exact at this position. */
  | { readonly type: 'ready'; readonly position: number }
  /** Earlier steps are void. The state follows. */
  | { readonly type: 'reset' };
