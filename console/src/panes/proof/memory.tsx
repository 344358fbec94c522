import { useState } from 'preact/hooks';
import { parseWitnessKey } from '../../../../src/tlog/verifier-key.ts';
import { counted } from '../../numbers.ts';
import { momentOf } from '../../times.ts';
import { Field, sends } from '../../ui/field.tsx';
import { memory } from './acts.ts';

/** What this browser remembers of the log. */
export function Remembered() {
  const log = memory.log();
  return (
    <section aria-labelledby="remembered">
      <h2 id="remembered">What this browser remembers</h2>
      <p>
        The last checkpoint that it verified of the log, and the key that it trusts: the first that it saw. Later
        checkpoints must extend that one.
      </p>
      {log === undefined ? (
        <p>Nothing yet. When you verify an event, this browser remembers the checkpoint of its log.</p>
      ) : (
        <ul class="kept">
          <li>
            <div>
              <strong>{log.origin}</strong>
              <p>
                {counted(log.size, 'event')}, seen at {momentOf(log.seenAt)}. Its key, trusted since{' '}
                {momentOf(log.trustedSince)}:
              </p>
              <code>{log.vkey}</code>
              <details>
                <summary>The checkpoint</summary>
                <pre class="code">{log.checkpoint}</pre>
              </details>
            </div>
            <button type="button" aria-label={`Forget ${log.origin}`} onClick={() => memory.forget()}>
              Forget
            </button>
          </li>
        </ul>
      )}
    </section>
  );
}

/** Shown instead of both if they are damaged. */
export function DamagedMemory() {
  return (
    <section class="problem" role="alert">
      <p>
        What this browser remembers of the log and of witnesses is damaged. Nothing can be verified until you press
        Forget everything.
      </p>
      <button
        type="button"
        onClick={() => {
          memory.forget();
          memory.trustWitnesses([]);
        }}
      >
        Forget everything
      </button>
    </section>
  );
}

/** The witnesses that are trusted. */
export function TrustedWitnesses() {
  const [fault, setFault] = useState('');
  const vkeys = memory.witnesses();
  const [typed, setTyped] = useState('');
  const add = (): void => {
    const vkey = typed.trim();
    try {
      parseWitnessKey(vkey);
      memory.trustWitnesses([...new Set([...vkeys, vkey])]);
      setTyped('');
      setFault('');
    } catch (error) {
      setFault(`${(error as Error).message}.`);
    }
  };
  return (
    <section aria-labelledby="witnesses">
      <h2 id="witnesses">Witnesses that you trust</h2>
      <p>
        A witness cosigns a checkpoint only if it extends the last one that the witness saw. So others see the same log.
      </p>
      <ul class="kept">
        {vkeys.map((vkey) => (
          <li key={vkey}>
            <code>{vkey}</code>
            <button
              type="button"
              aria-label={`Remove ${vkey}`}
              onClick={() => memory.trustWitnesses(vkeys.filter((other) => other !== vkey))}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <form onSubmit={sends(add)}>
        <Field label="Witness key" value={typed} onInput={setTyped} isCode isWide />
        <button type="submit">Trust</button>
      </form>
      {fault !== '' && (
        <p class="problem" role="alert">
          {fault}
        </p>
      )}
    </section>
  );
}
