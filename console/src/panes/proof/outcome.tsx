import { useEffect, useRef } from 'preact/hooks';
import { toHex } from '../../../../src/tlog/bytes.ts';
import type { Checkpoint } from '../../../../src/tlog/checkpoint.ts';
import { formatHash } from '../../../../src/tlog/hash.ts';
import { ContentFacts } from '../../log/content-facts.tsx';
import type { Cosignatures } from '../../proof/checkpoint.ts';
import type { ProvenEvent } from '../../proof/event-proof.ts';
import type { Outcome } from '../../proof/outcome.ts';
import { momentOf } from '../../times.ts';
import { Fact } from '../../ui/fact.tsx';
import { When } from '../../ui/when.tsx';

/** What became of a proof, and of what. */
export interface Shown {
  /** Such as "The event at position 17." */
  readonly subject: string;
  readonly outcome: Outcome<Proven>;
}

/** What there is to show of what is proved. */
export interface Proven {
  readonly event?: ProvenEvent;
  readonly checkpoint: Checkpoint;
  readonly cosignatures: Cosignatures;
}

/** The verdict in a live region, which is there before there is one; below it what was checked and what was not, in words. */
export function OutcomeView({ busy, shown }: { readonly busy: string; readonly shown: Shown | undefined }) {
  const outcome = shown?.outcome;
  const verdict = useRef<HTMLParagraphElement>(null);
  // On a phone it is below the fold.
  useEffect(() => verdict.current?.focus(), [shown]);
  return (
    <div class={outcome === undefined ? 'pending' : outcome.verified ? 'card proven' : 'card proven refuted'}>
      <div role="status">
        {busy !== '' && <p class="loading">{busy}</p>}
        {shown && (
          <p class="verdict" ref={verdict} tabIndex={-1}>
            <strong>{shown.outcome.verified ? 'Verified' : 'Not verified'}</strong> {shown.subject}
          </p>
        )}
        {outcome?.verified === false && <p class="reason">{outcome.reason}</p>}
      </div>
      {outcome?.verified && outcome.value.event && <EventView {...outcome.value.event} />}
      {outcome && (
        <Sentences title={outcome.verified ? 'Checked' : 'Checked before that'} sentences={outcome.checked} />
      )}
      {outcome?.verified && <Sentences title="Not checked" sentences={outcome.unchecked} />}
      {outcome?.verified && <CheckpointView {...outcome.value} />}
    </div>
  );
}

function Sentences({ title, sentences }: { title: string; sentences: readonly string[] }) {
  if (sentences.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul>
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </>
  );
}

function EventView({ event, content, erasedBy, leaf }: ProvenEvent) {
  return (
    <>
      <dl>
        <Fact name="Type">{event.type}</Fact>
        <Fact name="Time">
          <When time={event.time!} />
        </Fact>
        {content && <ContentFacts content={content} />}
        <Fact name="Erased by">{erasedBy && `the event at position ${erasedBy}`}</Fact>
      </dl>
      <details>
        <summary>Its id and hashes</summary>
        <dl>
          <Fact name="Event id">{event.eventId}</Fact>
          <Fact name="Commitment">{toHex(event.commitment)}</Fact>
          <Fact name="Hash in the tree">{toHex(leaf)}</Fact>
        </dl>
      </details>
    </>
  );
}

function CheckpointView({ checkpoint, cosignatures }: Proven) {
  const { all, trusted, cosigned } = cosignatures;
  return (
    <details>
      <summary>The checkpoint, and who cosigned it</summary>
      <dl>
        <Fact name="Log">{checkpoint.origin}</Fact>
        <Fact name="Events">{checkpoint.size}</Fact>
        <Fact name="Root">{formatHash(checkpoint.root)}</Fact>
        {all.map(({ witness, time }) => (
          <Fact key={witness} name={`Witness ${witness}`}>
            {time === undefined ? 'not checked: its key is not known here' : `cosigned at ${momentOf(time)}`}
          </Fact>
        ))}
      </dl>
      <p>
        {trusted === 0
          ? 'You trust no witness yet.'
          : `${cosigned} of the ${trusted} witnesses that you trust cosigned it.`}{' '}
        The operator's quorum is not public.
      </p>
    </details>
  );
}
