import { useEffect, useState } from 'preact/hooks';
import { counted, positionOf } from '../../numbers.ts';
import { replaceRoute, route } from '../../router.ts';
import { Field, sends } from '../../ui/field.tsx';
import { verifyEvent, verifyReceipt, verifyWholeLog } from './acts.ts';
import type { Shown } from './outcome.tsx';

/** Shows the outcome of a proof of a subject. A new proof ends the one that runs. */
export type Show = (subject: string, work: (signal: AbortSignal) => Promise<Shown['outcome']>) => Promise<void>;

interface CardProps {
  readonly show: Show;
  /** Ends the proof that runs, and shows no outcome any more. */
  readonly clear: () => void;
  readonly isDisabled: boolean;
}

/** Asks which event to prove, and proves that of the address. */
export function EventCard({ show, clear, isDisabled }: CardProps) {
  const asked = route.value.query.get('position') ?? '';
  const [typed, setTyped] = useState(asked);
  const [fault, setFault] = useState('');
  const prove = (text: string): void => {
    const position = positionOf(text);
    setFault(position === undefined ? 'A position is a whole number, 1 or more.' : '');
    if (position === undefined) clear();
    else void show(`The event at position ${position}.`, (signal) => verifyEvent(Number(position), signal));
  };
  useEffect(() => {
    if (asked === '') return;
    setTyped(asked);
    prove(asked);
  }, [asked]);
  return (
    <section class="card" aria-labelledby="of-event">
      <h2 id="of-event">An event</h2>
      <p>Checks that the log has the event at this position, and that its content is what the service shows.</p>
      <form
        onSubmit={sends(() => {
          const position = typed.trim();
          if (position === asked) prove(position);
          else replaceRoute('proof', { position });
        })}
      >
        <Field label="Position" value={typed} onInput={setTyped} inputMode="numeric" isCode />
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
export function ReceiptCard({ show }: { readonly show: Show }) {
  const [vkey, setVkey] = useState('');
  const prove = (file: File): void => void show(`The receipt ${file.name}.`, () => verifyReceipt(file, vkey.trim()));
  return (
    <section class="card" aria-labelledby="of-receipt">
      <h2 id="of-receipt">A receipt</h2>
      <p>Choose one, or drop it on the field. The page checks it here, and sends it nowhere.</p>
      <label class="file">
        <span class="unseen">Receipt</span>
        <input
          type="file"
          onChange={({ currentTarget }) => {
            const file = currentTarget.files?.[0];
            if (file) prove(file);
            currentTarget.value = '';
          }}
        />
      </label>
      <details class="fold">
        <summary>With a key of your own</summary>
        <Field
          label="Key"
          hint="The vkey of its log. By default, the key that this browser trusts."
          value={vkey}
          onInput={setVkey}
          isCode
        />
      </details>
    </section>
  );
}

/** Starts the check of the whole log, and shows how far it is. */
export function WholeLogCard({ show, clear, isDisabled }: CardProps) {
  const [progress, setProgress] = useState<{ readonly events: number; readonly size: number }>();
  const prove = async (): Promise<void> => {
    await show('The whole log.', (signal) => verifyWholeLog(signal, (events, size) => setProgress({ events, size })));
    setProgress(undefined);
  };
  return (
    <section class="card" aria-labelledby="of-log">
      <h2 id="of-log">The whole log</h2>
      <p>Checks that no event was changed, left out or added, from the first to the last of the checkpoint.</p>
      {progress && (
        <div class="running">
          <progress aria-label="Events checked" value={progress.events} max={progress.size || 1} />
          <p>
            {progress.events.toLocaleString('en')} of {counted(progress.size, 'event')}
          </p>
        </div>
      )}
      <button type="button" disabled={isDisabled} onClick={progress ? clear : prove}>
        {progress ? 'Cancel' : 'Check the whole log'}
      </button>
    </section>
  );
}
