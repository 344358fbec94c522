import { encodeContent, encodeEvent } from '../../src/log/event/encode.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { sha256 } from '../../src/tlog/hash.ts';

/** Members of an event; the bytes are made from them. */
export type Members = Omit<LoggedEvent, 'bytes' | 'content' | 'commitment' | 'isExtended' | 'erasedBy'> &
  Partial<Pick<LoggedEvent, 'commitment' | 'erasedBy'>>;

/** The event with these members. Its hash is as given; its commitment too, unless that is left out. */
export function encoded(members: Members): LoggedEvent {
  const { position, eventId, time, type, event, salt, hash, erasedBy } = members;
  const content = event && encodeContent(event, salt!);
  const commitment = members.commitment ?? sha256(content!);
  const frame = { position, eventId, time, type, commitment, event };
  return { ...frame, bytes: encodeEvent(frame), hash, content, erasedBy, salt, isExtended: false };
}
