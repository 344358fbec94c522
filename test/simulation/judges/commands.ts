import type { PlantCommand } from '../../../src/domain/decider.ts';
import { plantIdOf } from '../../../src/domain/decider.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { idempotencyString, refuseReuse } from '../../../src/domain/idempotency.ts';
import { type Committed, plantEventOf } from '../../../src/log/event/event.ts';
import { firstSo, type Span } from './answers.ts';
import type { Fresh } from './freshness.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

/** What became of a command, as its caller knows. A caller whose instance died knows nothing. */
type Outcome = 'unknown' | 'applied' | 'not applied';

/** A command that was sent. Its actor is its own, so that the log shows what came of it. */
export interface Sent {
  readonly command: PlantCommand;
  /** Who was asked, once it has the command. */
  by: object | undefined;
  readonly called: number;
  /** Position of the last event that somebody knew of before. */
  readonly from: number;
  /** How fresh a refusal must be. */
  readonly fresh: Fresh;
  /** Position of the owner's last erasure whose outcome was given before; 0: there was none. */
  readonly erasedAt: number;
  outcome: Outcome;
  /** Whether a restore has lost what it did. */
  isLost: boolean;
  returned: number | undefined;
  /** The position that was answered. */
  position: number | undefined;
}

/** Refusals that say that nothing was done, and nothing about the plants. */
const NOT_DONE = ['STORE_UNAVAILABLE', 'OVERLOADED', 'SHUTTING_DOWN'];

/** Judges what callers hear of their commands. */
export class CommandJudge {
  readonly sent = new Map<string, Sent>();
  /** Position of the last event that somebody knows of: it was acknowledged, or an answer has shown it. */
  known = 0;
  /** Position of each owner's last erasure whose outcome was given. */
  readonly erased = new Map<string, number>();
  readonly #truth: Truth;

  constructor(truth: Truth) {
    this.#truth = truth;
  }

  /** Position of the last event that was acknowledged up to a time. */
  acknowledgedAt(time: number): number {
    let last = 0;
    for (const { returned, position, isLost } of this.sent.values())
      if (!isLost && returned !== undefined && returned <= time) last = Math.max(last, position ?? 0);
    return last;
  }

  /** A backup was restored: the log ends earlier. Callers who have no answer yet never get one. */
  restore(end: number): void {
    this.known = Math.min(this.known, end);
    for (const [owner, position] of this.erased) if (position > end) this.erased.delete(owner);
    for (const sent of this.sent.values()) sent.isLost ||= (sent.position ?? 0) > end;
  }

  /**
   * An answer was of a position. Whoever asks after it gets nothing older, as if all calls were done one after the
   * other (linearizability).
   */
  shown(position: number): void {
    this.known = Math.max(this.known, position);
  }

  /** A command is sent. */
  send(command: PlantCommand, now: number, fresh: Fresh): Sent {
    const sent: Sent = {
      command,
      by: undefined,
      called: now,
      from: this.known,
      fresh,
      erasedAt: this.erased.get(command.owner) ?? 0,
      outcome: 'unknown',
      isLost: false,
      returned: undefined,
      position: undefined,
    };
    this.sent.set(command.actor, sent);
    return sent;
  }

  /** An instance has stopped in order: it has answered whatever it accepted. Throws Violation. */
  stopped(by: object): void {
    for (const { command, by: asked, returned } of this.sent.values())
      if (asked === by && returned === undefined)
        throw new Violation('outcome', `${command.actor}: not answered by an instance that has stopped`, command.owner);
  }

  /** Its caller hears that it was applied. Throws Violation. */
  applied(sent: Sent, { position, eventId, replayed }: Committed, now: number): void {
    const { command } = sent;
    Object.assign(sent, { outcome: replayed ? 'not applied' : 'applied', returned: now, position });
    const logged = this.#truth.events[position - 1];
    const event = logged && plantEventOf(logged);
    const wrong = (why: string) => new Violation('outcome', `${command.actor} at ${position}: ${why}`, command.owner);
    if (logged === undefined) throw wrong('acknowledged, and no majority has it');
    if (logged.eventId !== eventId) throw wrong('another event is there');
    if (event === undefined || refuseReuse(command, event) !== undefined)
      throw wrong('the event there says something else');
    if (replayed === true) {
      if (event.actor === command.actor) throw wrong('its own event counts as one of an earlier command');
      if (idempotencyString(event) !== idempotencyString(command)) throw wrong('the event there has another key');
      // A server that was deposed before the erasure does not know of it.
      if (position < sent.erasedAt && sent.erasedAt <= sent.fresh.from)
        throw new Violation('remains', `${command.actor}: an erased event is answered again`, command.owner);
    } else if (event.actor !== command.actor) throw wrong('the event there is of another command');
    else if (position <= sent.from) throw wrong(`not after ${sent.from}, which was known before`);
    this.shown(position);
  }

  /** Its caller hears that it was refused. Throws Violation. */
  refused(sent: Sent, error: unknown, now: number): void {
    const { command, fresh } = sent;
    const { from } = fresh;
    const { owner } = command;
    sent.returned = now;
    const wrong = (why: string) => new Violation('outcome', `${command.actor}: ${why}`, owner);
    if (!(error instanceof PlantStoreError)) throw wrong(`rejected with ${error}`);
    const { reason } = error;
    if (reason === 'OUTCOME_UNKNOWN') return;
    sent.outcome = 'not applied';
    if (NOT_DONE.includes(reason)) return;
    const span: Span = { from, to: this.#truth.end };
    const id = plantIdOf(command);
    if (reason === 'PLANT_ALREADY_EXISTS' || reason === 'PLANT_NOT_FOUND') {
      const isThere = reason === 'PLANT_ALREADY_EXISTS';
      const position = firstSo(this.#truth, span, owner, (plants) => plants.has(id) === isThere);
      if (position === undefined) throw wrong(`${reason}, which was not so from ${from} to ${span.to}`);
      this.shown(position);
      return;
    }
    if (reason !== 'IDEMPOTENCY_KEY_REUSED') throw wrong(reason);
    for (const logged of this.#truth.of(owner)) {
      const event = plantEventOf(logged);
      const isIt = event !== undefined && idempotencyString(event) === idempotencyString(command);
      if (isIt && refuseReuse(command, event) !== undefined) return;
    }
    throw wrong('IDEMPOTENCY_KEY_REUSED, and it is not');
  }

  /** Judges the whole log: nothing acknowledged is missing, nothing is there twice, nothing refused is there. */
  finish(): void {
    const done = new Set<string>();
    for (const logged of this.#truth.events) {
      const event = plantEventOf(logged);
      const sent = event && this.sent.get(event.actor);
      if (event === undefined || sent === undefined) continue;
      const wrong = (why: string) =>
        new Violation('outcome', `${event.actor} at ${logged.position}: ${why}`, event.owner);
      if (done.has(event.actor)) throw wrong('applied twice');
      done.add(event.actor);
      if (sent.outcome === 'not applied') throw wrong('applied, and its caller heard that it was not');
    }
    for (const [actor, { outcome, isLost }] of this.sent)
      if (outcome === 'applied' && !isLost && !done.has(actor))
        throw new Violation('outcome', `${actor}: acknowledged, and lost`);
  }
}
