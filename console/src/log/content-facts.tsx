import type { Content } from '../../../gen/plantstore/v1/event_pb.ts';
import { toHex } from '../../../src/tlog/bytes.ts';
import { setTexts } from '../plants/texts.ts';
import { Fact } from '../ui/fact.tsx';
import { subjectOf } from './words.ts';

/** What the content of an event says, as facts of a `dl`. */
export function ContentFacts({ content }: { readonly content: Content }) {
  const subject = subjectOf(content);
  return (
    <>
      <Fact name="Owner">{subject?.owner}</Fact>
      <Fact name="Plant" isCode>
        {subject && String(subject.id)}
      </Fact>
      {setTexts(subject ?? {}).map(({ name, title, text }) => (
        <Fact key={name} name={title}>
          {text}
        </Fact>
      ))}
      <Fact name="Actor">{content.actor}</Fact>
      <Fact name="Issuer">{content.issuer || undefined}</Fact>
      <Fact name="Idempotency key" isCode>
        {content.idempotencyKey || undefined}
      </Fact>
      <Fact name="Salt" isCode>
        {toHex(content.salt)}
      </Fact>
    </>
  );
}
