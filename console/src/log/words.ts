import type { Content, Record } from '../../../gen/plantstore/v1/event_pb.ts';
import { setTexts, type Texts, textsIn } from '../plants/texts.ts';
import { isolated } from '../ui/isolated.ts';

/**
 * The subject of an event, for people, with the texts of a plant that it adds. Undefined if its content is erased, or
 * if it is not about a plant.
 */
export interface Subject extends Texts {
  readonly owner: string;
  readonly id: bigint;
}

/** The plant that a content is about. */
export function subjectOf(content: Content | undefined): Subject | undefined {
  if (content === undefined) return undefined;
  const { owner, data } = content;
  return data.case && { owner, id: data.value.id, ...textsIn(data.value as Texts) };
}

/** What happened, in a sentence. */
export function sentenceOf(record: Record): string {
  const { event, content, erasedBy } = record;
  if (event!.type === 'OwnerErased')
    return `${isolated(content?.actor || 'Somebody')} erased an owner: ${event!.erased} earlier events have lost their content.`;
  const subject = subjectOf(content);
  if (subject === undefined) return `Event ${erasedBy} erased the content of this event.`;
  const { id, name } = subject;
  const [owner, actor] = [isolated(subject.owner), isolated(content!.actor)];
  const who = actor === owner ? owner : `${actor}, for ${owner},`;
  if (name === undefined) return `${who} deleted plant ${id}.`;
  const plant = name === '' ? 'a plant without a name' : `“${isolated(name)}”`;
  const others = setTexts(subject).filter(({ name: other, text }) => other !== 'name' && text !== '');
  const said = others.map(({ name: other, text }) => ` and the ${other} “${isolated(text)}”`);
  return `${who} added ${plant} with the id ${id}${said.join('')}.`;
}
