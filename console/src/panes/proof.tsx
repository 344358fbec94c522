import { useSignal } from '@preact/signals';
import type { TargetedSubmitEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { settings } from '../access.ts';
import { mapOutcome } from '../proof/outcome.ts';
import { eventsOf } from '../proof/words.ts';
import { replaceRoute, route } from '../router.ts';
import { type EventInLog, verifyEvent, verifyReceipt, verifyWholeLog } from './proof/acts.ts';
import { RememberedLogs, TrustedWitnesses } from './proof/memory.tsx';
import { OutcomeView, type Proven, type Shown } from './proof/outcome.tsx';

/** How far the check of a whole log is. */
interface Progress {
  readonly events: number;
  readonly size: number;
}

/** Milliseconds between two looks at the progress: more of them would be read by nobody. */
const PROGRESS_INTERVAL = 100;

const ofEvent = ({ log, ...event }: EventInLog): Proven => ({ ...log, event });

/** The pane Proof: an event, a receipt or the whole log, proved in the page. */
export function ProofPane() {
  const shown = useSignal<Shown | undefined>(undefined);
  const busy = useSignal('');
  const progress = useSignal<Progress | undefined>(undefined);
  // What is remembered changes outside of signals: rendering anew reads it.
  const remembered = useSignal(0);
  const running = useRef<AbortController>(undefined);
  const asked = route.value.query.get('position') ?? '';
  const hidesLog = settings.value?.publicLog === false;

  /** Does one proof after the other has ended: a new one ends the one that runs. */
  const show = async (subject: string, work: (signal: AbortSignal) => Promise<Shown['outcome']>): Promise<void> => {
    running.current?.abort();
    const mine = new AbortController();
    running.current = mine;
    busy.value = `Checking: ${subject}`;
    shown.value = undefined;
    const outcome = await work(mine.signal);
    if (running.current !== mine) return;
    running.current = undefined;
    busy.value = '';
    progress.value = undefined;
    shown.value = { subject, outcome };
    remembered.value++;
  };

  const showEvent = (position: string): Promise<void> =>
    show(`The event at position ${position}.`, async (signal) =>
      mapOutcome(await verifyEvent(/^\d+$/.test(position) ? Number(position) : Number.NaN, signal), ofEvent),
    );

  const showWholeLog = (): Promise<void> =>
    show('The whole log.', async (signal) => {
      let next = 0;
      const outcome = await verifyWholeLog(signal, (events, size) => {
        if (performance.now() < next) return;
        next = performance.now() + PROGRESS_INTERVAL;
        progress.value = { events, size };
      });
      return mapOutcome(outcome, ({ log }) => log);
    });

  const showReceipt = (file: File, vkey: string): Promise<void> =>
    show(`The receipt ${file.name}.`, async () =>
      mapOutcome(await verifyReceipt(file, vkey), ({ checkpoint, cosignatures, ...event }) => ({
        ...{ checkpoint, cosignatures, event },
      })),
    );

  useEffect(() => () => running.current?.abort(), []);
  useEffect(() => {
    if (asked !== '') void showEvent(asked);
  }, [asked]);

  const vkey = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    addEventListener('dragover', (event) => event.preventDefault(), { signal });
    addEventListener(
      'drop',
      (event) => {
        event.preventDefault();
        const file = event.dataTransfer?.files[0];
        if (file) void showReceipt(file, vkey.current!.value.trim());
      },
      { signal },
    );
    return () => ended.abort();
  }, []);
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const position = String(new FormData(event.currentTarget).get('position')).trim();
    if (position === asked) void showEvent(position);
    else replaceRoute('proof', { position });
  };

  return (
    <div class="proof">
      {hidesLog && (
        <p>This service does not show its log (PUBLIC_LOG=false), so that only receipts can be verified here.</p>
      )}
      <section aria-labelledby="of-event">
        <h2 id="of-event">An event</h2>
        <form onSubmit={submit}>
          <label>
            Position
            <input key={asked} name="position" inputMode="numeric" required autocomplete="off" defaultValue={asked} />
          </label>
          <button type="submit" disabled={hidesLog}>
            Verify
          </button>
        </form>
      </section>
      <section aria-labelledby="of-receipt">
        <h2 id="of-receipt">A receipt</h2>
        <p>Choose a receipt, or drop it anywhere on this page. It is checked here, and sent nowhere.</p>
        <label>
          Receipt
          <input
            type="file"
            onChange={({ currentTarget }) => {
              const file = currentTarget.files?.[0];
              currentTarget.value = '';
              if (file) void showReceipt(file, vkey.current!.value.trim());
            }}
          />
        </label>
        <label>
          Key of its log, if this browser does not know it
          <input ref={vkey} autocomplete="off" spellcheck={false} placeholder="log.example+0123abcd+…" />
        </label>
      </section>
      <section aria-labelledby="of-log">
        <h2 id="of-log">The whole log</h2>
        <p>
          Reads every entry, and builds the tree anew up to the root of the checkpoint. A million events take a minute
          or so.
        </p>
        <button type="button" disabled={hidesLog || progress.value !== undefined} onClick={showWholeLog}>
          Check the whole log
        </button>
        {progress.value && (
          <p>
            <progress aria-label="Events checked" value={progress.value.events} max={progress.value.size || 1} />{' '}
            {progress.value.events.toLocaleString('en')} of {eventsOf(progress.value.size)}{' '}
            <button type="button" onClick={() => running.current?.abort()}>
              Cancel
            </button>
          </p>
        )}
      </section>
      <div role="status" aria-live="polite" class="result">
        {busy.value !== '' && <p>{busy}</p>}
        {shown.value && <OutcomeView key={remembered.value} {...shown.value} />}
      </div>
      <RememberedLogs key={`logs ${remembered.value}`} onChange={() => remembered.value++} />
      <TrustedWitnesses key={`witnesses ${remembered.value}`} onChange={() => remembered.value++} />
    </div>
  );
}
