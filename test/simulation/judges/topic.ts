import { plantEventOf } from '../../../src/log/event/event.ts';
import { type EventMessage, eventMessage, POSITION_HEADER } from '../../../src/publisher/message.ts';
import type { FakeTopic } from '../machine/topic.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

/**
 * Judges a topic that has every event up to a position: each once and in order, as it is in the log, but for those
 * whose owner was erased before they came there. An OwnerErased comes with its owner, unless the topic has lost it once
 * its erasure was complete.
 */
export function judgeTopic(truth: Truth, { messages, end, lost }: FakeTopic): void {
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
      const isExcused = type === 'OwnerErased' ? lost.has(position) : truth.erasedAt(owner!) > position;
      if (!isExcused) throw wrong(`${position} is missing`, owner);
    } else if (message.value !== eventMessage(logged)?.value) throw wrong(`${position} is another event`, owner);
  }
}
