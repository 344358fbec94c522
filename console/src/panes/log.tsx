import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Record } from '../../../gen/plantstore/v1/event_pb.ts';
import { messageOf } from '../api/trouble.ts';
import { EventDetail } from '../log/event-detail.tsx';
import { type LogFilter, LogView } from '../log/log-view.ts';
import { readEvent } from '../log/reader.ts';
import { subjectOf } from '../log/words.ts';
import { idOf, positionOf } from '../numbers.ts';
import { linkTo, replaceRoute, route } from '../router.ts';
import { usable } from '../session.ts';
import { Field } from '../ui/field.tsx';
import { LiveChip } from '../ui/live-chip.tsx';
import { useNarrow } from '../ui/narrow.ts';
import { Notice } from '../ui/notice.tsx';
import { type RowAttributes, Rows } from '../ui/rows.tsx';
import { Spoken } from '../ui/spoken.tsx';
import { When } from '../ui/when.tsx';

const COLUMNS = [
  { name: 'position', title: 'Position' },
  { name: 'type', title: 'Type' },
  { name: 'owner', title: 'Owner' },
  { name: 'plant', title: 'Plant' },
  { name: 'time', title: 'Time' },
];

const TYPES = ['PlantAdded', 'PlantDeleted', 'OwnerErased'];

/** The filters in the address, as text. */
const NAMES = ['owner', 'plant', 'type', 'from', 'until'] as const;
type Texts = { readonly [Name in (typeof NAMES)[number]]: string };

/** Milliseconds after the last key before a filter takes effect. */
const PAUSE = 300;

/** Every event of every owner, live. */
export function LogPane() {
  const { query } = route.value;
  const { value: current } = usable;
  const texts = Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? ''])) as Texts;
  const wanted = JSON.stringify(texts);
  const chosen = query.get('event') ?? '';
  const [isPaused, setPaused] = useState(false);
  const view = useMemo(() => new LogView(filterOf(texts)), [wanted]);
  useEffect(() => {
    if (current === undefined) return;
    const abort = new AbortController();
    void view.run(abort.signal);
    return () => abort.abort();
  }, [view, current]);

  // A user who has scrolled down is reading: nothing moves.
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    const look = (): void => setAway(scrollY > 200);
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  useEffect(() => {
    view.isHeld = isPaused || isAway;
  }, [view, isPaused, isAway]);

  void view.version.value;
  const { value: waiting } = view.waiting;
  const { value: liveness } = view.liveness;
  const { value: searching } = view.searching;
  // The old content stays until there is new content.
  const last = useRef(view);
  if (liveness.state !== 'loading' || last.current.count === 0) last.current = view;
  const shown = last.current;
  const news = waiting === 0 ? '' : `${waiting.toLocaleString()} new ${waiting === 1 ? 'event' : 'events'}`;
  const isFiltered = Object.values(texts).some((text) => text !== '');

  const row = (index: number, attributes: RowAttributes) => {
    const record = shown.at(index);
    const position = String(record.event!.position);
    const subject = subjectOf(record);
    return (
      <tr {...attributes} key={position} class={position === chosen ? 'chosen' : undefined}>
        <td class="position code">
          <a
            href={linkTo('log', { ...texts, event: position })}
            aria-current={position === chosen ? 'true' : undefined}
            aria-label={`Event ${position}`}
          >
            {position}
          </a>
        </td>
        <td class={`type ${record.event!.type}`}>{record.event!.type}</td>
        <td class="owner">{subject?.owner ?? <span class="none">{record.content ? '' : 'erased'}</span>}</td>
        <td class="plant">
          {subject !== undefined && (
            <>
              <span class="code">{String(subject.id)}</span> {subject.name}
            </>
          )}
        </td>
        <td class="time">
          <When time={record.event!.time!} />
        </td>
      </tr>
    );
  };

  return (
    <div class={`log${chosen === '' ? '' : ' open'}`}>
      <Filters texts={texts} />
      <div class="bar">
        <LiveChip liveness={liveness} isPaused={isPaused} />
        {texts.until === '' && (
          <button type="button" onClick={() => setPaused(!isPaused)}>
            {isPaused ? 'Resume' : 'Pause'}
          </button>
        )}
        <p class="waiting">{news}</p>
        <Spoken text={news} />
        {waiting > 0 && !isPaused && (
          <button type="button" class="quiet" onClick={() => scrollTo({ top: 0 })}>
            To the newest
          </button>
        )}
        {isFiltered && (
          <a class="end" href={linkTo('log')}>
            Clear the filters
          </a>
        )}
      </div>
      <div class="split">
        <div class={`list${shown === view ? '' : ' stale'}`}>
          {liveness.state === 'failed' && (
            <Notice title="The log cannot be read." isProblem>
              <p>{liveness.message}</p>
            </Notice>
          )}
          {shown.count > 0 && (
            <Rows
              label="Events"
              count={shown.count}
              heights={[41, 61]}
              columns={COLUMNS}
              row={row}
              onEnd={() => void view.more().catch(() => {})}
            />
          )}
          {view.count === 0 && view.isWhole && (
            <Notice title={isFiltered ? 'No event matches these filters.' : 'The log is empty.'}>
              {!isFiltered && (
                <p>
                  The first plant that somebody adds is event 1. <a href={linkTo('plants')}>Add one.</a>
                </p>
              )}
            </Notice>
          )}
          {!view.isWhole && !['failed', 'stopped'].includes(liveness.state) && (
            <p class="loading" role="status">
              {isFiltered && searching !== undefined ? `Searching before position ${searching}…` : 'Loading…'}
            </p>
          )}
        </div>
        {chosen !== '' && (
          <Chosen position={chosen} back={linkTo('log', texts)} loaded={view.find(positionOf(chosen) ?? 0n)} />
        )}
      </div>
    </div>
  );
}

/** The selected event. */
function Chosen({
  position,
  back,
  loaded,
}: {
  readonly position: string;
  readonly back: string;
  readonly loaded: Record | undefined;
}) {
  const [found, setFound] = useState<Record>();
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const abort = new AbortController();
    setFound(undefined);
    setProblem('');
    if (loaded !== undefined) return;
    const number = positionOf(position);
    if (number === undefined) {
      setProblem('A position is a whole number, 1 or more.');
      return;
    }
    readEvent(number, abort.signal).then(
      (record) => (record === undefined ? setProblem('The log does not reach this position yet.') : setFound(record)),
      (error) => abort.signal.aborted || setProblem(messageOf(error)),
    );
    return () => abort.abort();
  }, [position, loaded === undefined]);
  useEffect(() => {
    const close = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') location.hash = back;
    };
    addEventListener('keydown', close);
    return () => {
      removeEventListener('keydown', close);
      document
        .querySelector<HTMLElement>(`a[aria-label="Event ${CSS.escape(position)}"]`)
        ?.focus({ preventScroll: true });
    };
  }, [back, position]);
  const record = loaded ?? found;
  return (
    <aside class="detail" aria-label={`Event ${position}`}>
      <a class="close" href={back}>
        Close
      </a>
      {record !== undefined && <EventDetail record={record} />}
      {problem !== '' && <Notice title={problem} isProblem />}
    </aside>
  );
}

/** The filters. Typed text takes effect after a pause, and then also appears in the address. */
function Filters({ texts }: { readonly texts: Texts }) {
  const [typed, setTyped] = useState(texts);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const known = JSON.stringify(texts);
  useEffect(() => setTyped(texts), [known]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (changed: Partial<Texts>): void => {
    const next = { ...typed, ...changed };
    setTyped(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(
      () => replaceRoute('log', { ...next, event: route.peek().query.get('event') ?? '' }),
      PAUSE,
    );
  };
  const isNoId = typed.plant !== '' && idOf(typed.plant) === undefined;
  const fields = (
    <search class="filters">
      <Field label="Owner" value={typed.owner} onInput={(owner) => change({ owner })} />
      <Field
        label="Plant"
        value={typed.plant}
        onInput={(plant) => change({ plant })}
        inputMode="numeric"
        isCode
        hint={isNoId ? 'an id is a whole number' : undefined}
      />
      <div class="field">
        <label for="log-type">Type</label>
        <select
          id="log-type"
          value={typed.type}
          onChange={({ currentTarget }) => change({ type: currentTarget.value })}
        >
          <option value="">All</option>
          {TYPES.map((type) => (
            <option key={type}>{type}</option>
          ))}
        </select>
      </div>
      <Field label="From" type="datetime-local" value={typed.from} onInput={(from) => change({ from })} />
      <Field label="Until" type="datetime-local" value={typed.until} onInput={(until) => change({ until })} />
    </search>
  );
  if (!useNarrow()) return fields;
  return (
    <details class="fold">
      <summary>Filters</summary>
      {fields}
    </details>
  );
}

function filterOf({ owner, plant, type, from, until }: Texts): LogFilter {
  const timeOf = (text: string): number | undefined => {
    const time = new Date(text).getTime();
    return Number.isNaN(time) ? undefined : time;
  };
  return {
    owner: owner || undefined,
    plantId: idOf(plant),
    type: type || undefined,
    from: timeOf(from),
    until: timeOf(until),
  };
}
