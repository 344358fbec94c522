import { useMemo, useRef, useState } from 'preact/hooks';
import type { Plant } from '../../../client/index.ts';
import { may, owner } from '../access.ts';
import { useStream } from '../live.ts';
import { AddForm } from '../plants/add-form.tsx';
import { draftTexts, TEXTS } from '../plants/texts.ts';
import { nameOf, useCommands } from '../plants/use-commands.ts';
import { PlantWatch } from '../plants/watch.ts';
import { linkTo } from '../router.ts';
import { usable } from '../session.ts';
import { Cut, PlantCells } from '../ui/cut.tsx';
import { Field } from '../ui/field.tsx';
import { LiveChip } from '../ui/live-chip.tsx';
import { loading, Notice } from '../ui/notice.tsx';
import { type RowAttributes, Rows } from '../ui/rows.tsx';

const COLUMNS = [{ name: 'id', title: 'Id' }, ...TEXTS, { name: 'act', title: 'Actions', isHidden: true }];

const NAMED = TEXTS.map(({ name }) => name);

/** The caller's plants, live: add, find, delete. */
export function PlantsPane() {
  const { value: current } = usable;
  const watch = useMemo(() => new PlantWatch(), [owner.value]);
  const { result, add, remove } = useCommands();
  const [wanted, setWanted] = useState('');
  const list = useRef<HTMLDivElement>(null);
  useStream(watch);

  const version = watch.version.value;
  const { plants } = watch;
  const found = useMemo(() => (wanted === '' ? undefined : plants.find(wanted)), [plants, version, wanted]);
  const count = found?.length ?? plants.size;
  const { state } = watch.liveness.value;
  const mayWrite = may('plants:write');
  const deleted = result?.deleted;

  const drop = (plant: Plant): void => {
    // The row disappears, and the focus in it.
    list.current?.focus({ preventScroll: true });
    void remove(plant);
  };

  const addAgain = async (plant: Plant): Promise<void> => {
    if (await add({ id: String(plant.id), ...draftTexts(plant) }, plant)) list.current?.focus({ preventScroll: true });
  };

  const row = (index: number, attributes: RowAttributes) => {
    const plant = found?.[index] ?? plants.at(index);
    return (
      <tr {...attributes} key={String(plant.id)}>
        <td class="id code">
          <Cut text={String(plant.id)} />
        </td>
        <PlantCells plant={plant} />
        <td class="act">
          {mayWrite && (
            <button
              type="button"
              class="quiet"
              aria-label={`Delete ${nameOf(plant)}`}
              disabled={current === undefined}
              onClick={() => drop(plant)}
            >
              Delete
            </button>
          )}
        </td>
      </tr>
    );
  };

  return (
    <>
      {mayWrite ? (
        <AddForm add={add} isDisabled={current === undefined} />
      ) : (
        <p class="needs">To add and delete, a token needs plants:write.</p>
      )}
      <p class={`outcome${result?.isProblem ? ' problem' : ''}`} role="status">
        {result?.text}{' '}
        {result?.position !== undefined && (
          <a href={linkTo('proof', { position: String(result.position) })}>Event {String(result.position)}</a>
        )}{' '}
        {deleted !== undefined && (
          <button type="button" class="quiet" disabled={current === undefined} onClick={() => void addAgain(deleted)}>
            Add again
          </button>
        )}
      </p>
      <div class="bar" ref={list} tabIndex={-1} hidden={current === undefined && count === 0}>
        <p class="count">
          <strong>{count.toLocaleString('en')}</strong> {count === 1 ? 'plant' : 'plants'}
          {found !== undefined && ` of ${plants.size.toLocaleString('en')}`}
        </p>
        <LiveChip liveness={watch.liveness.value} />
        <Field label="Find" type="search" value={wanted} onInput={setWanted} />
      </div>
      {count === 0 && state === 'live' && found === undefined && (
        <Notice title="No plants yet.">
          <p>Add the first one above. Plants that other clients add appear here, too.</p>
        </Notice>
      )}
      {count === 0 && found !== undefined && state !== 'loading' && (
        <Notice title={`No plant has “${wanted}” in its id, ${NAMED.join(' or ')}.`} />
      )}
      {count === 0 && state === 'loading' && <p class="loading">{loading()}</p>}
      {count > 0 && <Rows label="Plants" count={count} columns={COLUMNS} row={row} />}
    </>
  );
}
