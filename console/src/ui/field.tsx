import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** What a field is made of. */
export interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'password' | 'search' | 'datetime-local';
  /** Which keys a phone shows. */
  readonly inputMode?: 'numeric' | 'text';
  /** Said beneath the label. */
  readonly hint?: ComponentChildren;
  /** For figures and tokens. */
  readonly isCode?: boolean;
  readonly isWide?: boolean;
  readonly name?: string;
}

/** A field with its label. */
export function Field({ label, value, onInput, type = 'text', inputMode, hint, isCode, isWide, name }: FieldProps) {
  const id = useId();
  return (
    <div class={`field${isWide ? ' wide' : ''}`}>
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        class={isCode ? 'code' : undefined}
        // Preact's types know an input by its one type.
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
