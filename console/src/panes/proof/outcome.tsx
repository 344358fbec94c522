import { useEffect, useRef } from 'preact/hooks';
import { formatHash } from '../../../../src/tlog/hash.ts';
import { EventFacts } from '../../log/event-detail.tsx';
import type { Proven } from '../../proof/checkpoint.ts';
import type { Outcome } from '../../proof/outcome.ts';
import { momentOf } from '../../times.ts';
import { Fact } from '../../ui/fact.tsx';

/** What became of a proof, and of what. */
export interface Shown {
  /** Such as "The event at position 17." */
  readonly subject: string;
  readonly outcome: Outcome<Proven>;
}

/**
 * The verdict in a live region, which is there before there is one; below it what was checked and what was not, in
 * words.
 */
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
      {outcome && (
        <Sentences title={outcome.verified ? 'Checked' : 'Checked before that'} sentences={outcome.checked} />
      )}
      {outcome?.verified && <Sentences title="Not checked" sentences={outcome.unchecked} />}
      {outcome?.verified && outcome.value.record && (
        <>
          <h3>Event</h3>
          <EventFacts record={outcome.value.record} />
        </>
      )}
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
