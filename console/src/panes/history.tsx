import { timestampMs } from '@bufbuild/protobuf/wkt';
import { useEffect, useState } from 'preact/hooks';
import type { Record } from '../../../gen/plantstore/v1/event_pb.ts';
import { owner as ownOwner } from '../access.ts';
import { readHistory } from '../log/reader.ts';
import { sentenceOf } from '../log/words.ts';
import { AN_ID, counted, idOf } from '../numbers.ts';
import { linkTo, route } from '../router.ts';
import { momentOf } from '../times.ts';
import { Field, sends } from '../ui/field.tsx';
import { isolated } from '../ui/isolated.ts';
import { loading, Notice } from '../ui/notice.tsx';
import { useRead } from '../ui/use-read.ts';
import { When } from '../ui/when.tsx';

/** All events of one plant. */
export function HistoryPane() {
  const { query } = route.value;
  const owner = query.get('owner') ?? '';
  const plant = query.get('plant') ?? '';
  const [typed, setTyped] = useState({ owner: owner || ownOwner.value, plant });
  const [problem, setProblem] = useState('');
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    setProblem('');
    if (plant !== '') setTyped({ owner, plant });
  }, [owner, plant]);
  const show = (): void => {
    if (idOf(typed.plant) === undefined) setProblem(`The id of a plant is ${AN_ID}.`);
    else if (typed.owner === '') setProblem('Enter the owner: each owner has separate ids.');
    else {
      setProblem('');
      setAsked(asked + 1);
      location.hash = linkTo('history', { owner: typed.owner, plant: typed.plant.trim() });
    }
  };
  return (
    <>
      <form class="filters" onSubmit={sends(show)}>
        <Field label="Owner" value={typed.owner} onInput={(text) => setTyped({ ...typed, owner: text })} />
        <Field
          label="Plant"
          value={typed.plant}
          onInput={(text) => setTyped({ ...typed, plant: text })}
          inputMode="numeric"
          isCode
        />
        <button type="submit" class="primary">
          Show
        </button>
      </form>
      <p class="outcome problem" role="alert">
        {problem}
      </p>
      {problem === '' &&
        (owner !== '' && idOf(plant) !== undefined ? (
          <Story key={`${owner}\n${plant}\n${asked}`} owner={owner} plantId={idOf(plant)!} />
        ) : (
          <Notice title="Which plant?">
            <p>
              Name its owner and its id, or come from an event of the <a href={linkTo('log')}>Log</a>.
            </p>
          </Notice>
        ))}
    </>
  );
}

/** What happened to a plant, the oldest first. */
function Story({ owner, plantId }: { readonly owner: string; readonly plantId: bigint }) {
  const { value, problem, retry } = useRead(`${owner}\n${plantId}`, (signal) => readHistory(owner, plantId, signal));
  if (problem !== '') return <Notice title="The history cannot be read." problem={problem} retry={retry} />;
  if (value?.length === 0)
    return (
      <Notice title={`${isolated(owner)} never had a plant with the id ${plantId}.`}>
        <p>Or its content has been erased from the log.</p>
      </Notice>
    );
  const records = value ?? [];
  const last = records.at(-1);
  return (
    <>
      <p class="summary" role="status">
        {last === undefined ? loading() : summaryOf(records, last)}
      </p>
      <ol class="story">
        {records.map((record) => {
          const position = String(record.event!.position);
          return (
            <li key={position} class={record.event!.type}>
              <p class="story-time">
                <When time={record.event!.time!} />
                <a href={linkTo('log', { event: position })}>Event {position}</a>
              </p>
              <p>{sentenceOf(record)}</p>
            </li>
          );
        })}
      </ol>
    </>
  );
}

function summaryOf(records: readonly Record[], last: Record): string {
  const since = momentOf(timestampMs(last.event!.time!));
  const events = counted(records.length, 'event');
  return last.event!.type === 'PlantDeleted'
    ? `${events}. It was deleted on ${since}.`
    : `${events}. It exists since ${since}.`;
}
