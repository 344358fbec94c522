import { useMemo } from 'preact/hooks';
import { audit } from '../api/connect.ts';
import { readHead } from '../log/reader.ts';
import { counted } from '../numbers.ts';
import { TEXTS } from '../plants/texts.ts';
import { linkTo, replaceRoute, route } from '../router.ts';
import { differenceOf, type OwnedPlant } from '../time/difference.ts';
import { Moment } from '../time/moment.tsx';
import { Cut, PlantCells } from '../ui/cut.tsx';
import { Field } from '../ui/field.tsx';
import { loading, Notice } from '../ui/notice.tsx';
import { type RowAttributes, Rows } from '../ui/rows.tsx';
import { type Read, useRead } from '../ui/use-read.ts';

const COLUMNS = [{ name: 'owner', title: 'Owner' }, { name: 'id', title: 'Id' }, ...TEXTS];

/** Milliseconds that a moment must not change before its plants are requested. */
const SETTLE_PAUSE = 250;

/** The plants as they were, and what changed between two moments. */
export function TimePane() {
  const { value: head, problem, retry } = useRead('head', async (signal) => Number((await readHead(signal)).position));
  if (problem !== '') return <Notice title="The log cannot be read." problem={problem} retry={retry} />;
  if (head === undefined) return <p class="loading">{loading()}</p>;
  if (head === 0) return <Notice title="The log is empty." />;
  return <Travel head={head} toNow={retry} />;
}

function Travel({ head, toNow }: { readonly head: number; readonly toNow: () => void }) {
  const { query } = route.value;
  const at = within(query.get('position'), head) ?? head;
  const other = within(query.get('with'), head);
  const owner = query.get('owner') ?? '';
  const go = (changed: { at?: number; other?: number | undefined; owner?: string }): void => {
    const next = { at, other, owner, ...changed };
    replaceRoute('time', {
      position: String(next.at),
      with: next.other === undefined ? undefined : String(next.other),
      owner: next.owner,
    });
  };
  const opposite = at === head ? 0 : head;
  const [here, there] = [usePlants(owner, at), usePlants(owner, other)];
  const isSwapped = other !== undefined && other < at;
  const [low, high] = isSwapped ? [other, at] : [at, other];
  const compared = other === undefined ? undefined : there.value;
  const [then, later] = isSwapped ? [compared, here.value] : [here.value, compared];
  const problem = here.problem || there.problem;
  const isLoading = here.isLoading || there.isLoading;
  const retry = problem === here.problem ? here.retry : there.retry;
  const difference = useMemo(() => then && later && differenceOf(then, later), [then, later]);
  return (
    <>
      <div class="moments">
        <Moment label="Moment" position={at} head={head} onChange={(to) => go({ at: to })} />
        {other !== undefined && (
          <Moment label="Compared with" position={other} head={head} onChange={(to) => go({ other: to })} />
        )}
      </div>
      <div class="bar">
        <button type="button" onClick={() => go({ other: other === undefined ? opposite : undefined })}>
          {other === undefined ? 'Compare' : 'Stop comparing'}
        </button>
        <button
          type="button"
          onClick={() => {
            replaceRoute('time', { with: query.get('with') ?? '', owner });
            toNow();
          }}
        >
          Now
        </button>
        <Field label="Owner" value={owner} onInput={(text) => go({ owner: text })} />
      </div>
      <p class="summary" role="status">
        {problem === '' && isLoading && loading()}
        {problem === '' && !isLoading && difference === undefined && then !== undefined && (
          <>
            <strong>{counted(then.length, 'plant')}</strong> after event {low}
          </>
        )}
        {problem === '' && !isLoading && difference !== undefined && (
          <>
            From {low} to {high}: <strong>{difference.removed.length.toLocaleString('en')} removed</strong>,{' '}
            <strong>{difference.added.length.toLocaleString('en')} added</strong>
          </>
        )}
      </p>
      {problem !== '' && <Notice title="The plants of that moment cannot be read." problem={problem} retry={retry} />}
      <div class={isLoading ? 'stale' : undefined}>
        {difference === undefined ? (
          then !== undefined && <List label="Plants then" plants={then} nothing="There were no plants." />
        ) : (
          <div class="beside">
            <section class="removed">
              <h2>Removed</h2>
              <List label="Removed" plants={difference.removed} nothing="Nothing was removed." />
            </section>
            <section class="added">
              <h2>Added</h2>
              <List label="Added" plants={difference.added} nothing="Nothing was added." />
            </section>
          </div>
        )}
      </div>
    </>
  );
}

/** The plants after the event at a position, in ascending owner and id: of every owner, unless one is named. */
const usePlants = (owner: string, position: number | undefined): Read<readonly OwnedPlant[] | undefined> =>
  useRead(
    JSON.stringify([owner, position]),
    async (signal) => {
      if (position === undefined) return undefined;
      const list: OwnedPlant[] = [];
      const asOf = { case: 'position', value: BigInt(position) } as const;
      for await (const { plants } of audit.listPlantsAsOf({ asOf, ...(owner && { owner }) }, { signal }))
        list.push(...plants);
      return list;
    },
    SETTLE_PAUSE,
  );

interface ListProps {
  readonly label: string;
  readonly plants: readonly OwnedPlant[];
  readonly nothing: string;
}

function List({ label, plants, nothing }: ListProps) {
  if (plants.length === 0) return <p class="nothing">{nothing}</p>;
  const row = (index: number, attributes: RowAttributes) => {
    const plant = plants[index]!;
    const { owner, id } = plant;
    return (
      <tr {...attributes} key={`${owner}\n${id}`}>
        <td class="owner">
          <Cut text={owner} />
        </td>
        <td class="id code">
          <a href={linkTo('history', { owner, plant: String(id) })} title={String(id)}>
            {String(id)}
          </a>
        </td>
        <PlantCells plant={plant} />
      </tr>
    );
  };
  return <Rows label={label} count={plants.length} columns={COLUMNS} row={row} />;
}

/** A position of the log; undefined if the text is not one. */
function within(text: string | null, head: number): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Math.min(Number(text), head) : undefined;
}
