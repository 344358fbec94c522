import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { settings } from '../access.ts';
import { positionOf } from '../numbers.ts';
import { replaceRoute, route } from '../router.ts';
import { useDroppedFile } from '../ui/dropped-file.ts';
import { isMemoryDamaged, verifyEvent, verifyReceipt, verifyWholeLog } from './proof/acts.ts';
import { EventCard, type LogProgress, ReceiptCard, WholeLogCard } from './proof/cards.tsx';
import { DamagedMemory, RememberedLogs, TrustedWitnesses } from './proof/memory.tsx';
import { OutcomeView, type Shown } from './proof/outcome.tsx';

/** Milliseconds between two updates of the progress; nobody could read more of them. */
const PROGRESS_INTERVAL = 100;

/** The pane Proof: an event, a receipt or the whole log, proved in the page. */
export function ProofPane() {
  const shown = useSignal<Shown | undefined>(undefined);
  const busy = useSignal('');
  const progress = useSignal<LogProgress | undefined>(undefined);
  // The memory changes outside of signals, so a new rendering reads it.
  const remembered = useSignal(0);
  const running = useRef<AbortController>(undefined);
  const asked = route.value.query.get('position') ?? '';
  const position = useSignal(asked);
  const fault = useSignal('');
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

  const showEvent = async (text: string): Promise<void> => {
    const found = positionOf(text);
    fault.value = found === undefined ? 'A position is a whole number, 1 or more.' : '';
    if (found !== undefined)
      await show(`The event at position ${found}.`, (signal) => verifyEvent(Number(found), signal));
  };

  const showWholeLog = (): Promise<void> =>
    show('The whole log.', (signal) => {
      let next = 0;
      return verifyWholeLog(signal, (events, size) => {
        if (performance.now() < next) return;
        next = performance.now() + PROGRESS_INTERVAL;
        progress.value = { events, size };
      });
    });

  const showReceipt = (file: File): Promise<void> =>
    show(`The receipt ${file.name}.`, () => verifyReceipt(file, vkey.value.trim()));

  useEffect(() => () => running.current?.abort(), []);
  useEffect(() => {
    if (asked === '') return;
    position.value = asked;
    void showEvent(asked);
  }, [asked]);

  useDroppedFile((file) => void showReceipt(file));
  const submit = (): void => {
    const typed = position.value.trim();
    if (typed === asked) void showEvent(typed);
    else replaceRoute('proof', { position: typed });
  };

  return (
    <div class="proof">
      {hidesLog && <p>This service does not show its log (PUBLIC_LOG=false), so you can verify only receipts here.</p>}
      <div class="acts">
        <EventCard position={position} fault={fault.value} isDisabled={hidesLog} onSubmit={submit} />
        <ReceiptCard vkey={vkey} onChoose={(file) => void showReceipt(file)} />
        <WholeLogCard
          progress={progress.value}
          isDisabled={hidesLog}
          onStart={showWholeLog}
          onCancel={() => running.current?.abort()}
        />
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
