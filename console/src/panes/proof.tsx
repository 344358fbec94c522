import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { settings } from '../access.ts';
import { mapOutcome } from '../proof/outcome.ts';
import { eventCount } from '../proof/words.ts';
import { replaceRoute, route } from '../router.ts';
import { Field } from '../ui/field.tsx';
import { type EventInLog, isMemoryDamaged, verifyEvent, verifyReceipt, verifyWholeLog } from './proof/acts.ts';
import { DamagedMemory, RememberedLogs, TrustedWitnesses } from './proof/memory.tsx';
import { OutcomeView, type Proven, type Shown } from './proof/outcome.tsx';

/** The progress of the check of a whole log. */
interface Progress {
  readonly events: number;
  readonly size: number;
}

/** Milliseconds between two updates of the progress; nobody could read more of them. */
const PROGRESS_INTERVAL = 100;

const ofEvent = ({ log, ...event }: EventInLog): Proven => ({ ...log, event });

/** The pane Proof: an event, a receipt or the whole log, proved in the page. */
export function ProofPane() {
  const shown = useSignal<Shown | undefined>(undefined);
  const busy = useSignal('');
  const progress = useSignal<Progress | undefined>(undefined);
  // The memory changes outside of signals, so a new rendering reads it.
  const remembered = useSignal(0);
  const running = useRef<AbortController>(undefined);
  const asked = route.value.query.get('position') ?? '';
  const position = useSignal(asked);
  const vkey = useSignal('');
  const hidesLog = settings.value?.publicLog === false;

  /** Runs one proof at a time: a new proof ends the one that runs. */
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

  const showReceipt = (file: File): Promise<void> =>
    show(`The receipt ${file.name}.`, async () =>
      mapOutcome(await verifyReceipt(file, vkey.value.trim()), ({ checkpoint, cosignatures, ...event }) => ({
        ...{ checkpoint, cosignatures, event },
      })),
    );

  useEffect(() => () => running.current?.abort(), []);
  useEffect(() => {
    if (asked === '') return;
    position.value = asked;
    void showEvent(asked);
  }, [asked]);

  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    addEventListener('dragover', (event) => event.preventDefault(), { signal });
    addEventListener(
      'drop',
      (event) => {
        event.preventDefault();
        const file = event.dataTransfer?.files[0];
        if (file) void showReceipt(file);
      },
      { signal },
    );
    return () => ended.abort();
  }, []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const typed = position.value.trim();
    if (typed === asked) void showEvent(typed);
    else replaceRoute('proof', { position: typed });
  };

  return (
    <div class="proof">
      {hidesLog && <p>This service does not show its log (PUBLIC_LOG=false), so you can verify only receipts here.</p>}
      <div class="acts">
        <section class="card" aria-labelledby="of-event">
          <h2 id="of-event">An event</h2>
          <p>Checks that the log has the event at this position, and that its content is what the service shows.</p>
          <form onSubmit={submit}>
            <Field
              label="Position"
              value={position.value}
              onInput={(text) => {
                position.value = text;
              }}
              inputMode="numeric"
              isCode
            />
            <button type="submit" class="primary" disabled={hidesLog}>
              Verify
            </button>
          </form>
        </section>
        <section class="card" aria-labelledby="of-receipt">
          <h2 id="of-receipt">A receipt</h2>
          <p>Choose one, or drop it anywhere on this page. The page checks it here, and sends it nowhere.</p>
          <label class="file">
            <span class="unseen">Receipt</span>
            <input
              type="file"
              onChange={({ currentTarget }) => {
                const file = currentTarget.files?.[0];
                if (file) void showReceipt(file);
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
        <section class="card" aria-labelledby="of-log">
          <h2 id="of-log">The whole log</h2>
          <p>Checks that no event was changed, left out or added, from the first to the last of the checkpoint.</p>
          {progress.value === undefined ? (
            <button type="button" disabled={hidesLog} onClick={showWholeLog}>
              Check the whole log
            </button>
          ) : (
            <div class="running">
              <progress aria-label="Events checked" value={progress.value.events} max={progress.value.size || 1} />
              <p>
                {progress.value.events.toLocaleString('en')} of {eventCount(progress.value.size)}
              </p>
              <button type="button" onClick={() => running.current?.abort()}>
                Cancel
              </button>
            </div>
          )}
        </section>
      </div>
      <OutcomeView busy={busy.value} shown={shown.value} />
      {isMemoryDamaged() ? (
        <DamagedMemory onChange={() => remembered.value++} />
      ) : (
        <>
          <RememberedLogs key={`logs ${remembered.value}`} onChange={() => remembered.value++} />
          <TrustedWitnesses key={`witnesses ${remembered.value}`} onChange={() => remembered.value++} />
        </>
      )}
    </div>
  );
}
