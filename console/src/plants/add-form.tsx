import { useRef, useState } from 'preact/hooks';
import { Field } from '../ui/field.tsx';
import type { Draft } from './use-commands.ts';

/** The form of a new plant. `add` resolves with whether it was added. */
export function AddForm({
  add,
  isDisabled,
}: {
  readonly add: (draft: Draft) => Promise<boolean>;
  readonly isDisabled: boolean;
}) {
  const [draft, setDraft] = useState<Draft>({ id: '', name: '', tag: '' });
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const change = (changed: Partial<Draft>): void => setDraft({ ...draft, ...changed });
  const submit = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    const isAdded = await add(draft);
    setBusy(false);
    if (!isAdded) return;
    change({ id: '', name: '', tag: '' });
    form.current?.querySelector('input')?.focus();
  };
  return (
    <form
      ref={form}
      class="add"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Field label="Id" value={draft.id} onInput={(id) => change({ id })} inputMode="numeric" isCode />
      <Field label="Name" value={draft.name} onInput={(name) => change({ name })} />
      <Field label="Tag" value={draft.tag} onInput={(tag) => change({ tag })} />
      <button type="submit" class="primary" disabled={isDisabled} aria-disabled={isBusy}>
        Add
      </button>
    </form>
  );
}
