import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { settings } from '../access.ts';
import { isMemoryDamaged } from './proof/acts.ts';
import { EventCard, ReceiptCard, type Show, WholeLogCard } from './proof/cards.tsx';
import { DamagedMemory, Remembered, TrustedWitnesses } from './proof/memory.tsx';
import { OutcomeView, type Shown } from './proof/outcome.tsx';

/** The pane Proof: an event, a receipt or the whole log, proved in the page. */
export function ProofPane() {
  const shown = useSignal<Shown | undefined>(undefined);
  const busy = useSignal('');
  const running = useRef<AbortController>(undefined);
  const hidesLog = settings.value?.publicLog === false;

  const clear = (): void => {
    running.current?.abort();
    running.current = undefined;
    busy.value = '';
    shown.value = undefined;
  };
  const show: Show = async (subject, work) => {
    clear();
    const mine = new AbortController();
    running.current = mine;
    busy.value = `Checking: ${subject}`;
    const outcome = await work(mine.signal);
    if (running.current !== mine) return;
    busy.value = '';
    shown.value = { subject, outcome };
  };
  useEffect(() => () => running.current?.abort(), []);

  return (
    <div class="proof">
      {hidesLog && <p>This service does not show its log (PUBLIC_LOG=false), so you can verify only receipts here.</p>}
      <div class="acts">
        <EventCard show={show} clear={clear} isDisabled={hidesLog} />
        <ReceiptCard show={show} />
        <WholeLogCard show={show} clear={clear} isDisabled={hidesLog} />
      </div>
      <OutcomeView busy={busy.value} shown={shown.value} />
      {isMemoryDamaged() ? (
        <DamagedMemory />
      ) : (
        <>
          <Remembered />
          <TrustedWitnesses />
        </>
      )}
    </div>
  );
}
