import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isNarrow } from './page.ts';

/** Greatest height of a list in pixels; browsers stop at about 33 million. Longer lists scroll in larger steps. */
const MAX_HEIGHT = 10_000_000;
/** Pixels of one row, as in the style sheets. */
const ROW_HEIGHT = 41;
const NARROW_HEIGHT = 61;
/** Rows above and below the visible ones. */
const MARGIN_ROWS = 8;

/** A table with only its visible rows on the page. */
export interface RowsProps {
  readonly label: string;
  readonly count: number;
  readonly columns: readonly { readonly name: string; readonly title: string; readonly isHidden?: boolean }[];
  /** One `tr` with these attributes and a key that identifies its content. */
  readonly row: (index: number, attributes: RowAttributes) => ComponentChildren;
  /** Called when the last row is visible. */
  readonly onEnd?: () => void;
}

/** What each `tr` carries. */
export interface RowAttributes {
  readonly 'aria-rowindex': number;
}

interface Range {
  readonly first: number;
  readonly last: number;
  /** Pixels above the first. */
  readonly above: number;
}

/** Shows a table of any length. The page scrolls, not the table. */
export function Rows({ label, count, columns, row, onEnd }: RowsProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [range, setRange] = useState<Range>({ first: 0, last: 40, above: 0 });
  const height = isNarrow.value ? NARROW_HEIGHT : ROW_HEIGHT;
  const full = count * height;
  const total = Math.min(full, MAX_HEIGHT);

  const look = useRef(() => {});
  look.current = () => {
    if (body.current === null) return;
    const { innerHeight } = window;
    const scrolled = Math.min(Math.max(0, -body.current.getBoundingClientRect().top), Math.max(0, total - innerHeight));
    // If the list would be too tall, one pixel of scrolling is more than one pixel of rows.
    const offset = total < full ? (scrolled * (full - innerHeight)) / (total - innerHeight) : scrolled;
    const first = Math.max(0, Math.floor(offset / height) - MARGIN_ROWS);
    const last = Math.min(count, Math.ceil((offset + innerHeight) / height) + MARGIN_ROWS);
    const above = Math.max(0, scrolled + first * height - offset);
    setRange((before) =>
      before.first === first && before.last === last && before.above === above ? before : { first, last, above },
    );
    if (last >= count) onEnd?.();
  };
  useEffect(() => {
    const onScroll = (): void => look.current();
    addEventListener('scroll', onScroll, { passive: true });
    addEventListener('resize', onScroll);
    return () => {
      removeEventListener('scroll', onScroll);
      removeEventListener('resize', onScroll);
    };
  }, []);
  useLayoutEffect(() => look.current(), [count, height]);

  const first = Math.min(range.first, count);
  const last = Math.min(Math.max(range.last, first), count);
  const below = Math.max(0, total - range.above - (last - first) * height);
  return (
    <table class="rows" aria-label={label} aria-rowcount={count + 1}>
      <thead>
        <tr aria-rowindex={1}>
          {columns.map(({ name, title, isHidden }) => (
            <th key={name} scope="col" class={name}>
              {isHidden ? <span class="unseen">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        {range.above > 0 && <Space key="above" height={range.above} />}
        {Array.from({ length: last - first }, (_, at) => {
          const index = first + at;
          return row(index, { 'aria-rowindex': index + 2 });
        })}
        {below > 0 && <Space key="below" height={below} />}
      </tbody>
    </table>
  );
}

function Space({ height }: { readonly height: number }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row without controls has no focus
    <tr aria-hidden="true" class="space">
      <td style={{ height: `${height}px` }} />
    </tr>
  );
}
