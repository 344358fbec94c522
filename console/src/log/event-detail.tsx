import type { Record } from '../../../gen/plantstore/v1/event_pb.ts';
import { toHex } from '../../../src/tlog/bytes.ts';
import { recordHash } from '../../../src/tlog/hash.ts';
import { TILE_WIDTH } from '../../../src/tlog/tile.ts';
import { setTexts } from '../plants/texts.ts';
import { eventBytes } from '../proof/event.ts';
import { linkTo } from '../router.ts';
import { Fact } from '../ui/fact.tsx';
import { When } from '../ui/when.tsx';
import { sentenceOf, subjectOf } from './words.ts';

const TILE = BigInt(TILE_WIDTH);

/** One event: what it says, its hashes, its trace, its place in the tree. */
export function EventDetail({ record }: { readonly record: Record }) {
  const event = record.event!;
  const subject = subjectOf(record.content);
  return (
    <>
      <p class="sentence">{sentenceOf(record)}</p>
      <p class="links">
        <a href={linkTo('proof', { position: String(event.position) })}>Verify</a>
        {subject !== undefined && (
          <a href={linkTo('history', { owner: subject.owner, plant: String(subject.id) })}>History of the plant</a>
        )}
        <a href={linkTo('time', { position: String(event.position) })}>The plants then</a>
      </p>
      <EventFacts record={record} />
    </>
  );
}

/** An event as facts. What the record lacks is left out. */
export function EventFacts({ record: { event, content, erasedBy } }: { readonly record: Record }) {
  const { position, time, type, eventId, commitment, hash } = event!;
  const subject = subjectOf(content);
  const leaf = position - 1n;
  const trace = content && /^00-(\w{32})-(\w{16})-/.exec(content.traceparent);
  return (
    <>
      <dl>
        <Fact name="Type">{type}</Fact>
        <Fact name="Time">
          <When time={time!} />
        </Fact>
        <Fact name="Event id" code={eventId} />
      </dl>
      {(content !== undefined || erasedBy > 0n) && <h3>Content</h3>}
      {content !== undefined && (
        <dl>
          <Fact name="Owner">{subject?.owner}</Fact>
          <Fact name="Plant" code={subject && String(subject.id)} />
          {setTexts(subject ?? {}).map(({ name, title, text }) => (
            <Fact key={name} name={title}>
              {text}
            </Fact>
          ))}
          <Fact name="Actor">{content.actor}</Fact>
          <Fact name="Issuer">{content.issuer || undefined}</Fact>
          <Fact name="Idempotency key" code={content.idempotencyKey || undefined} />
          <Fact name="Salt" code={toHex(content.salt)} />
        </dl>
      )}
      {erasedBy > 0n && (
        <p>
          Erased by <a href={linkTo('log', { event: String(erasedBy) })}>event {String(erasedBy)}</a>. The event and its
          hashes stay.
        </p>
      )}
      <h3>Hashes</h3>
      <dl>
        <Fact name="Commitment to the content" code={toHex(commitment)} />
        <Fact name="Hash in the chain" code={toHex(hash) || undefined} />
      </dl>
      <h3>Place in the tree</h3>
      <dl>
        <Fact name="Leaf">{String(leaf)}</Fact>
        <Fact name="Tile">
          {String(leaf / TILE)} of level 0, entry {String(leaf % TILE)}
        </Fact>
        <Fact name="Leaf hash" code={toHex(recordHash(eventBytes(event)))} />
      </dl>
      {trace && (
        <>
          <h3>Trace</h3>
          <dl>
            <Fact name="Trace" code={trace[1]} />
            <Fact name="Span" code={trace[2]} />
          </dl>
        </>
      )}
    </>
  );
}
