import type { Signal } from '@preact/signals';
import { counted } from '../../numbers.ts';
import { Field } from '../../ui/field.tsx';

/** Asks which event to prove. */
export function EventCard({
  position,
  fault,
  isDisabled,
  onSubmit,
}: {
  readonly position: Signal<string>;
  /** Why it is none; empty: it may be one. */
  readonly fault: string;
  readonly isDisabled: boolean;
  readonly onSubmit: () => void;
}) {
  return (
    <section class="card" aria-labelledby="of-event">
      <h2 id="of-event">An event</h2>
      <p>Checks that the log has the event at this position, and that its content is what the service shows.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        <Field
          label="Position"
          value={position.value}
          onInput={(text) => {
            position.value = text;
          }}
          inputMode="numeric"
          isCode
        />
        <button type="submit" class="primary" disabled={isDisabled}>
          Verify
        </button>
      </form>
      <p class="problem" role="alert">
        {fault}
      </p>
    </section>
  );
}

/** Asks for a receipt, and for a key other than the one that this browser trusts. */
export function ReceiptCard({
  vkey,
  onChoose,
}: {
  readonly vkey: Signal<string>;
  readonly onChoose: (file: File) => void;
}) {
  return (
    <section class="card" aria-labelledby="of-receipt">
      <h2 id="of-receipt">A receipt</h2>
      <p>Choose one, or drop it anywhere on this page. The page checks it here, and sends it nowhere.</p>
      <label class="file">
        <span class="unseen">Receipt</span>
        <input
          type="file"
          onChange={({ currentTarget }) => {
            const file = currentTarget.files?.[0];
            if (file) onChoose(file);
            currentTarget.value = '';
          }}
        />
      </label>
      <details class="fold">
        <summary>With a key of your own</summary>
        <Field
          label="Key"
          hint="The vkey of its log. By default, the key that this browser trusts."
          value={vkey.value}
          onInput={(text) => {
            vkey.value = text;
          }}
          isCode
        />
      </details>
    </section>
  );
}

/** The progress of the check of a whole log. */
export interface LogProgress {
  readonly events: number;
  readonly size: number;
}

/** Starts the check of the whole log, and shows how far it is. */
export function WholeLogCard({
  progress,
  isDisabled,
  onStart,
  onCancel,
}: {
  readonly progress: LogProgress | undefined;
  readonly isDisabled: boolean;
  readonly onStart: () => void;
  readonly onCancel: () => void;
}) {
  return (
    <section class="card" aria-labelledby="of-log">
      <h2 id="of-log">The whole log</h2>
      <p>Checks that no event was changed, left out or added, from the first to the last of the checkpoint.</p>
      {progress === undefined ? (
        <button type="button" disabled={isDisabled} onClick={onStart}>
          Check the whole log
        </button>
      ) : (
        <div class="running">
          <progress aria-label="Events checked" value={progress.events} max={progress.size || 1} />
          <p>
            {progress.events.toLocaleString('en')} of {counted(progress.size, 'event')}
          </p>
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        </div>
      )}
    </section>
  );
}
