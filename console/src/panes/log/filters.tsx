import { useEffect, useRef, useState } from 'preact/hooks';
import type { LogFilter } from '../../log/log-view.ts';
import { AN_ID, idOf } from '../../numbers.ts';
import { TYPES } from '../../proof/event.ts';
import { replaceRoute, route } from '../../router.ts';
import { fieldOfTime, timeOfField, zoneAt } from '../../times.ts';
import { Field } from '../../ui/field.tsx';
import { isNarrow } from '../../ui/page.ts';

const NAMES = ['owner', 'plant', 'type', 'from', 'until'] as const;

/** The filters in the address, as text. Times are in UTC there, so that a link means the same to everybody. */
export type Texts = { readonly [Name in (typeof NAMES)[number]]: string };

/** Milliseconds after the last key before a filter takes effect. */
const TYPING_PAUSE = 300;

/** The filters of an address. */
export const textsIn = (query: URLSearchParams): Texts =>
  Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? ''])) as Texts;

/** The filters. Typed text takes effect after a pause, and then also appears in the address. */
export function Filters({ texts }: { readonly texts: Texts }) {
  const [typed, setTyped] = useState(() => fieldsOf(texts));
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const known = JSON.stringify(texts);
  useEffect(() => setTyped(fieldsOf(texts)), [known]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (changed: Partial<Texts>): void => {
    const next = { ...typed, ...changed };
    setTyped(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const [from, until] = [timeOfField(next.from), timeOfField(next.until)];
      replaceRoute('log', { ...next, from, until, event: route.peek().query.get('event') ?? '' });
    }, TYPING_PAUSE);
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
        hint={isNoId ? `an id is ${AN_ID}` : undefined}
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
      <Field
        label={`From (${zoneAt(Date.now())})`}
        type="datetime-local"
        value={typed.from}
        onInput={(from) => change({ from })}
      />
      <Field
        label={`Until (${zoneAt(Date.now())})`}
        type="datetime-local"
        value={typed.until}
        onInput={(until) => change({ until })}
      />
    </search>
  );
  if (!isNarrow.value) return fields;
  return (
    <details class="fold">
      <summary>Filters</summary>
      {fields}
    </details>
  );
}

/** The filters as the fields have them. */
const fieldsOf = (texts: Texts): Texts => ({
  ...texts,
  from: fieldOfTime(texts.from),
  until: fieldOfTime(texts.until),
});

/** The filters as the log understands them. What cannot be understood does not filter. */
export function filterOf({ owner, plant, type, from, until }: Texts): LogFilter {
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
