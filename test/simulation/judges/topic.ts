import { type LoggedEvent, plantEventOf } from '../../../src/log/event/event.ts';
import { type EventMessage, eventMessage, HASH_HEADER, POSITION_HEADER } from '../../../src/publisher/message.ts';
import type { FakeTopic } from '../machine/topic.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

/**
 * Judges a topic that has every event up to a position: each once and in order, as it is in the log, but for those
 * whose owner was erased before they came there, also if a restore has brought the owner back: whoever restores erases
 * again. An OwnerErased comes with its owner, but for one that was complete before anybody published: then nothing of
 * the owner from before is there.
 */
export function judgeTopic(truth: Truth, topic: FakeTopic): void {
  if (isOfEarlierLog(truth, topic)) judgeOneLog(truth, topic);
  else judgeWhole(truth, topic);
}

function judgeWhole(truth: Truth, { messages, end }: FakeTopic): void {
  const wrong = (what: string, owner?: string) => new Violation('topic', what, owner);
  const byPosition = new Map<number, EventMessage>();
  let last = 0;
  for (const message of messages) {
    const position = Number(message.headers[POSITION_HEADER]);
    if (position <= last) throw wrong(`${position} comes after ${last}`);
    last = position;
    byPosition.set(position, message);
  }
  for (const logged of truth.events.slice(0, end.position)) {
    const { position, type, eventId } = logged;
    const owner = truth.erasedOwners.get(eventId) ?? plantEventOf(logged)?.owner;
    const message = byPosition.get(position);
    if (message === undefined) {
      const isErased = truth.erasedAt(owner!) > position || truth.wasErasedAfter(position, owner!);
      const isOfOwner = ({ headers, value }: EventMessage) =>
        Number(headers[POSITION_HEADER]) < position && JSON.parse(value).owner === owner;
      const isExcused = type === 'OwnerErased' ? !messages.some(isOfOwner) : isErased;
      if (!isExcused) throw wrong(`${position} is missing`, owner);
    } else if (message.value !== eventMessage(logged)?.value) throw wrong(`${position} is another event`, owner);
  }
}

/** Whether a topic has what a restore of the log has lost: then nothing more may come there. */
export function isOfEarlierLog({ events }: Truth, { end: { position, hash } }: FakeTopic): boolean {
  const last = events[position - 1]?.hash;
  return position > 0 && (last === undefined || Buffer.from(last).toString('hex') !== hash);
}

/** Judges a topic of a log that was restored: all of it is of one log. */
function judgeOneLog({ events, earlier }: Truth, { messages }: FakeTopic): void {
  const isOf =
    (log: readonly LoggedEvent[]) =>
    ({ headers }: EventMessage) => {
      const logged = log[Number(headers[POSITION_HEADER]) - 1];
      return logged !== undefined && Buffer.from(logged.hash).toString('hex') === headers[HASH_HEADER];
    };
  if (![events, ...earlier].some((log) => messages.every(isOf(log))))
    throw new Violation('topic', 'it has events of more than one log');
}
