import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** What a form does when it is sent: this, in place of a new page. */
export const sends =
  (act: () => unknown) =>
  (event: SubmitEvent): void => {
    event.preventDefault();
    act();
  };

/** The parts of a field. */
export interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'password' | 'search' | 'datetime-local';
  /** The kind of keyboard on a phone. */
  readonly inputMode?: 'numeric';
  /** Shown below the label. */
  readonly hint?: ComponentChildren;
  /** For figures and tokens. */
  readonly isCode?: boolean;
  readonly isWide?: boolean;
}

/** A field with its label. */
export function Field({ label, value, onInput, type = 'text', inputMode, hint, isCode, isWide }: FieldProps) {
  const id = useId();
  return (
    <div class={`field${isWide ? ' wide' : ''}`}>
      <label for={id}>{label}</label>
      <input
        id={id}
        class={isCode ? 'code' : undefined}
        // Preact types each kind of input separately.
        type={type as 'text'}
        step={type === 'datetime-local' ? 1 : undefined}
        inputMode={inputMode}
        value={value}
        autoComplete="off"
        spellcheck={false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
