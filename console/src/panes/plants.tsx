import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { may, owner } from '../access.ts';
import { isUnreachable, messageOf } from '../api/trouble.ts';
import { addPlant, type Draft, deletePlant, newKey } from '../plants/commands.ts';
import type { Plant } from '../plants/plant-list.ts';
import { PlantWatch } from '../plants/watch.ts';
import { linkTo } from '../router.ts';
import { usable } from '../session.ts';
import { Field } from '../ui/field.tsx';
import { LiveChip } from '../ui/live-chip.tsx';
import { Notice } from '../ui/notice.tsx';
import { type RowAttributes, Rows } from '../ui/rows.tsx';

const COLUMNS = [
  { name: 'id', title: 'Id' },
  { name: 'name', title: 'Name' },
  { name: 'tag', title: 'Tag' },
  { name: 'act', title: 'Actions', isHidden: true },
];

const nameOf = ({ id, name }: Draft | Plant): string =>
  `${name === '' ? 'a plant without a name' : `“${name}”`} (${String(id).trim()})`;

/** The outcome of the last command. */
interface Outcome {
  readonly text: string;
  readonly isProblem?: boolean;
  /** The event of the command. */
  readonly position?: string;
  /** The deleted plant, for an undo. */
  readonly deleted?: Plant;
}

/** The caller's plants, live: add, find, delete. */
export function PlantsPane() {
  const { value: current } = usable;
  const watch = useMemo(() => new PlantWatch(), [owner.value]);
  const [outcome, setOutcome] = useState<Outcome>();
  const [wanted, setWanted] = useState('');
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (current === undefined) return;
    const abort = new AbortController();
    void watch.run(abort.signal);
    return () => abort.abort();
  }, [watch, current]);

  const version = watch.version.value;
  const { plants } = watch;
  const found = useMemo(() => (wanted === '' ? undefined : plants.find(wanted)), [plants, version, wanted]);
  const count = found?.length ?? plants.size;
  const { state } = watch.liveness.value;
  const mayWrite = may('plants:write');

  const isSignedOut = (): boolean => {
    if (current === undefined)
      setOutcome({ text: 'Sign in first: your token is no longer accepted.', isProblem: true });
    return current === undefined;
  };
  const add = async (draft: Draft, key: string): Promise<boolean> => {
    if (isSignedOut()) return false;
    try {
      const position = await addPlant(draft, key);
      setOutcome({ text: `Added ${nameOf(draft)}.`, position });
      return true;
    } catch (error) {
      setOutcome({
        text: isUnreachable(error)
          ? 'The service cannot be reached. The plant may have been added. It is safe to press Add again: it is added once.'
          : messageOf(error),
        isProblem: true,
      });
      return false;
    }
  };
  const remove = async (plant: Plant): Promise<void> => {
    if (isSignedOut()) return;
    // The row disappears, and the focus in it.
    list.current?.focus({ preventScroll: true });
    try {
      const position = await deletePlant(plant.id, newKey());
      setOutcome({
        text: `Deleted ${nameOf(plant)}.`,
        position,
        deleted: plant,
      });
    } catch (error) {
      setOutcome({ text: messageOf(error), isProblem: true });
    }
  };

  const row = (index: number, attributes: RowAttributes) => {
    const plant = found?.[index] ?? plants.at(index);
    return (
      <tr {...attributes} key={String(plant.id)}>
        <td class="id code">{String(plant.id)}</td>
        <td class="name">{plant.name === '' ? <span class="none">no name</span> : plant.name}</td>
        <td class="tag">{plant.tag !== undefined && <span class="tag-chip">{plant.tag || '(empty)'}</span>}</td>
        <td class="act">
          {mayWrite && (
            <button type="button" class="quiet" aria-label={`Delete ${nameOf(plant)}`} onClick={() => remove(plant)}>
              Delete
            </button>
          )}
        </td>
      </tr>
    );
  };

  return (
    <>
      {mayWrite ? <AddForm add={add} /> : <p class="needs">To add and delete, a token needs plants:write.</p>}
      <p class={`outcome${outcome?.isProblem ? ' problem' : ''}`} role="status">
        {outcome?.text}{' '}
        {outcome?.position !== undefined && (
          <a href={linkTo('proof', { position: outcome.position })}>Event {outcome.position}</a>
        )}{' '}
        {outcome?.deleted !== undefined && (
          <button
            type="button"
            class="quiet"
            onClick={() => {
              const { id, name, tag = '' } = outcome.deleted!;
              void add({ id: String(id), name, tag }, newKey());
            }}
          >
            Add again
          </button>
        )}
      </p>
      <div class="bar" ref={list} tabIndex={-1}>
        <p class="count">
          <strong>{count.toLocaleString()}</strong> {count === 1 ? 'plant' : 'plants'}
          {found !== undefined && ` of ${plants.size.toLocaleString()}`}
        </p>
        <LiveChip liveness={watch.liveness.value} />
        <Field label="Find" type="search" value={wanted} onInput={setWanted} />
      </div>
      {count === 0 && state === 'live' && found === undefined && (
        <Notice title="No plants yet.">
          <p>Add the first one above. Plants that other clients add appear here, too.</p>
        </Notice>
      )}
      {count === 0 && found !== undefined && <Notice title={`No plant has “${wanted}” in its id, name or tag.`} />}
      {count === 0 && state === 'loading' && <p class="loading">Loading…</p>}
      {count > 0 && <Rows label="Plants" count={count} heights={[41, 61]} columns={COLUMNS} row={row} />}
    </>
  );
}

/** The form of a new plant. `add` resolves with whether it was added. */
function AddForm({ add }: { readonly add: (draft: Draft, key: string) => Promise<boolean> }) {
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
