import { useRef, useState } from 'preact/hooks';
import { Field, sends } from '../ui/field.tsx';
import { draftTexts, TEXTS } from './texts.ts';
import type { Draft } from './use-commands.ts';

const EMPTY: Draft = { id: '', ...draftTexts({}) };

/** The form of a new plant. `add` resolves with whether it was added. */
export function AddForm({
  add,
  isDisabled,
}: {
  readonly add: (draft: Draft) => Promise<boolean>;
  readonly isDisabled: boolean;
}) {
  const [draft, setDraft] = useState(EMPTY);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const change = (changed: Partial<Draft>): void => setDraft({ ...draft, ...changed });
  const submit = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    const isAdded = await add(draft);
    setBusy(false);
    if (!isAdded) return;
    change(EMPTY);
    form.current?.querySelector('input')?.focus();
  };
  return (
    <form ref={form} class="add" onSubmit={sends(submit)}>
      <Field label="Id" value={draft.id} onInput={(id) => change({ id })} inputMode="numeric" isCode />
      {TEXTS.map(({ name, title }) => (
        <Field key={name} label={title} value={draft[name]} onInput={(text) => change({ [name]: text })} />
      ))}
      <button type="submit" class="primary" disabled={isDisabled} aria-disabled={isBusy}>
        Add
      </button>
    </form>
  );
}
