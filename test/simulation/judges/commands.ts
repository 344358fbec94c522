import type { PlantCommand } from '../../../src/domain/decider.ts';
import { plantIdOf } from '../../../src/domain/decider.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { idempotencyString, refuseReuse } from '../../../src/domain/idempotency.ts';
import { type Committed, plantEventOf } from '../../../src/log/event/event.ts';
import { type Span, wasSo } from './answers.ts';
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
  /** Position of the last event that was acknowledged before. */
  from: number;
  /** How fresh a refusal must be. */
  fresh: Fresh;
  /** Position of the owner's last erasure whose outcome was given before; 0: there was none. */
  erasedAt: number;
  outcome: Outcome;
  /** Whether it was refused for what the plants were. */
  isDecided: boolean;
  /** Whether an earlier command with its key was its answer. */
  isReplayed: boolean;
  /** Whether a restore has lost what it did, or may have. */
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
  /** Position of the last event that was acknowledged. */
  acknowledged = 0;
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

  /** A backup was restored: the log ends earlier. Callers who have no answer yet may hear what was so before. */
  restore(end: number): void {
    this.acknowledged = Math.min(this.acknowledged, end);
    for (const [owner, position] of this.erased) if (position > end) this.erased.delete(owner);
    for (const sent of this.sent.values()) {
      sent.isLost ||= sent.returned === undefined || (sent.position ?? 0) > end;
      sent.from = Math.min(sent.from, end);
      if (sent.erasedAt > end) sent.erasedAt = 0;
      sent.fresh = { ...sent.fresh, from: Math.min(sent.fresh.from, end) };
    }
  }

  /** A command is sent. */
  send(command: PlantCommand, now: number, fresh: Fresh): Sent {
    const sent: Sent = {
      command,
      by: undefined,
      called: now,
      from: this.acknowledged,
      fresh,
      erasedAt: this.erased.get(command.owner) ?? 0,
      outcome: 'unknown',
      isDecided: false,
      isReplayed: false,
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
    Object.assign(sent, {
      outcome: replayed ? 'not applied' : 'applied',
      isReplayed: replayed === true,
      returned: now,
      position,
    });
    if (sent.isLost && this.#truth.isLost(eventId)) return;
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
    else if (position <= sent.from) throw wrong(`not after ${sent.from}, which was acknowledged before`);
    this.acknowledged = Math.max(this.acknowledged, position);
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
    // It may be as of before the restore.
    if (sent.isLost) return;
    if (NOT_DONE.includes(reason)) return;
    const span: Span = { from, to: this.#truth.end };
    const id = plantIdOf(command);
    if (reason === 'PLANT_ALREADY_EXISTS' || reason === 'PLANT_NOT_FOUND') {
      sent.isDecided = true;
      const isThere = reason === 'PLANT_ALREADY_EXISTS';
      if (!wasSo(this.#truth, span, owner, (plants) => plants.has(id) === isThere))
        throw wrong(`${reason}, which was not so from ${from} to ${span.to}`);
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
