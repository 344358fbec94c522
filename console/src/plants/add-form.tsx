import { useRef, useState } from 'preact/hooks';
import { Field } from '../ui/field.tsx';
import { type Draft, newKey } from './commands.ts';

/** The form of a new plant. `add` resolves with whether it was added. */
export function AddForm({ add }: { readonly add: (draft: Draft, key: string) => Promise<boolean> }) {
  const [draft, setDraft] = useState<Draft>({ id: '', name: '', tag: '' });
  const [isBusy, setBusy] = useState(false);
  /** The same for the same draft, so that a retry is safe. */
  const key = useRef(newKey());
  const form = useRef<HTMLFormElement>(null);
  const change = (changed: Partial<Draft>): void => {
    key.current = newKey();
    setDraft({ ...draft, ...changed });
  };
  const submit = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    const isAdded = await add(draft, key.current);
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
      <button type="submit" class="primary" aria-disabled={isBusy}>
        Add
      </button>
    </form>
  );
}
