import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useStream } from '../live.ts';
import { LogView } from '../log/log-view.ts';
import { subjectOf } from '../log/words.ts';
import { counted, positionOf } from '../numbers.ts';
import { linkTo, route } from '../router.ts';
import { zoneAt } from '../times.ts';
import { isolated } from '../ui/isolated.ts';
import { LiveChip } from '../ui/live-chip.tsx';
import { loading, Notice } from '../ui/notice.tsx';
import { isScrolledAway } from '../ui/page.ts';
import { type RowAttributes, Rows } from '../ui/rows.tsx';
import { When } from '../ui/when.tsx';
import { Chosen } from './log/chosen.tsx';
import { Filters, filterOf, textsIn } from './log/filters.tsx';

const COLUMNS = [
  { name: 'position', title: 'Position' },
  { name: 'type', title: 'Type' },
  { name: 'owner', title: 'Owner' },
  { name: 'plant', title: 'Plant' },
  { name: 'time', title: `Time (${zoneAt(Date.now())})` },
];

/** Every event of every owner, live. */
export function LogPane() {
  const { query } = route.value;
  const texts = textsIn(query);
  const wanted = JSON.stringify(texts);
  const chosen = query.get('event') ?? '';
  const [isPaused, setPaused] = useState(false);
  const view = useMemo(() => new LogView(filterOf(texts)), [wanted]);
  useStream(view);

  // A user who has scrolled down is reading: nothing moves.
  const { value: isAway } = isScrolledAway;
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
  const news = waiting === 0 ? '' : counted(waiting, 'new event');
  const isFiltered = Object.values(texts).some((text) => text !== '');

  // The last try failed, or older events are out of sight.
  const canLoad = !view.isWhole && liveness.state === 'live' && searching === undefined;
  const more = (): void => void view.more().catch(() => {});

  const row = (index: number, attributes: RowAttributes) => {
    const { event, content } = shown.at(index);
    const position = String(event!.position);
    const subject = subjectOf(content);
    const isChosen = position === chosen;
    return (
      <tr {...attributes} key={position} class={isChosen ? 'chosen' : undefined}>
        <td class="position code">
          <a
            href={linkTo('log', { ...texts, event: position })}
            aria-current={isChosen ? 'true' : undefined}
            aria-label={`Event ${position}`}
          >
            {position}
          </a>
        </td>
        <td class={`type ${event!.type}`}>{event!.type}</td>
        <td class="owner">{subject ? isolated(subject.owner) : <span class="none">{content ? '' : 'erased'}</span>}</td>
        <td class="plant">
          {subject !== undefined && (
            <>
              <span class="code">{String(subject.id)}</span> {subject.name && isolated(subject.name)}
            </>
          )}
        </td>
        <td class="time">
          <When time={event!.time!} />
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
        <span class="unseen" role="status">
          {waiting > 0 && 'There are new events'}
        </span>
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
          {liveness.state === 'failed' && <Notice title="The log cannot be read." problem={liveness.message ?? ''} />}
          {shown.count > 0 && <Rows label="Events" count={shown.count} columns={COLUMNS} row={row} onEnd={more} />}
          {view.count === 0 && view.isWhole && (
            <Notice title={isFiltered ? 'No event matches these filters.' : 'The log is empty.'} />
          )}
          {!view.isWhole && !canLoad && !['failed', 'stopped'].includes(liveness.state) && (
            <p class="loading" role="status">
              {isFiltered && searching !== undefined ? `Searching before position ${searching}…` : loading()}
            </p>
          )}
          {canLoad && (
            <button type="button" onClick={more}>
              Load older events
            </button>
          )}
        </div>
        {chosen !== '' && (
          <Chosen
            position={chosen}
            back={linkTo('log', texts)}
            loaded={view.find(positionOf(chosen) ?? 0n)}
            forgotten={view.forgotten}
          />
        )}
      </div>
    </div>
  );
}
