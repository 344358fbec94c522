import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { toHex } from '../../../../src/tlog/bytes.ts';
import type { Checkpoint } from '../../../../src/tlog/checkpoint.ts';
import { formatHash } from '../../../../src/tlog/hash.ts';
import { subjectOf } from '../../log/words.ts';
import { setTexts } from '../../plants/texts.ts';
import type { Cosignatures } from '../../proof/cosignatures.ts';
import type { ProvenEvent } from '../../proof/event-proof.ts';
import type { Outcome } from '../../proof/outcome.ts';
import { momentOf } from '../../times.ts';
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
  const subject = subjectOf(content);
  return (
    <>
      <Facts
        facts={[
          ['Type', event.type],
          ['Time', <When time={event.time} />],
          ['Owner', content?.owner || undefined],
          ['Plant', subject && String(subject.id)],
          ...setTexts(subject ?? {}).map(({ title, text }): [string, string] => [title, text]),
          ['Actor', content?.actor || undefined],
          ['Erased by', erasedBy === undefined ? undefined : `the event at position ${erasedBy}`],
        ]}
      />
      <details>
        <summary>Its id and hashes</summary>
        <Facts
          facts={[
            ['Event id', event.eventId],
            ['Salt', content && toHex(content.salt)],
            ['Commitment', toHex(event.commitment)],
            ['Hash in the tree', toHex(leaf)],
          ]}
        />
      </details>
    </>
  );
}

/** Names and values; what has none is left out. */
function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

function CheckpointView({ checkpoint, cosignatures }: Proven) {
  const { all, trusted, cosigned } = cosignatures;
  return (
    <details>
      <summary>The checkpoint, and who cosigned it</summary>
      <Facts
        facts={[
          ['Log', checkpoint.origin],
          ['Events', String(checkpoint.size)],
          ['Root', formatHash(checkpoint.root)],
          ...all.map(
            ({ witness, time }) =>
              [
                `Witness ${witness}`,
                time === undefined ? 'not checked: its key is not known here' : `cosigned at ${momentOf(time)}`,
              ] as const,
          ),
        ]}
      />
      <p>
        {trusted === 0
          ? 'You trust no witness yet.'
          : `${cosigned} of the ${trusted} witnesses that you trust cosigned it.`}{' '}
        The operator's quorum is not public.
      </p>
    </details>
  );
}
