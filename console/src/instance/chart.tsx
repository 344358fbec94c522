import type { Sample } from './report.ts';

const WIDTH = 240;
const HEIGHT = 56;

/** A line of values over a span of time, the newest at the right, with the newest value in figures. */
export function Chart({
  title,
  samples,
  span,
  format,
}: {
  readonly title: string;
  readonly samples: readonly Sample[];
  /** Milliseconds from the left to the right. */
  readonly span: number;
  readonly format: (value: number) => string;
}) {
  const last = samples.at(-1);
  const most = samples.reduce((top, { value }) => Math.max(top, value), 0);
  const points = samples.map(({ time, value }) => {
    const x = WIDTH - ((last!.time - time) / span) * WIDTH;
    const y = HEIGHT - 2 - (most === 0 ? 0 : (value / most) * (HEIGHT - 6));
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <p class="figure">{last === undefined ? '–' : format(last.value)}</p>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${last === undefined ? 'not known yet' : `${format(last.value)} now, ${format(most)} at most`}`}
      >
        <line class="base" x1={0} x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} />
        {points.length > 1 && (
          <>
            <polygon points={`${points[0]!.split(',')[0]},${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`} />
            <polyline points={points.join(' ')} />
          </>
        )}
      </svg>
      <p class="most">{most > 0 ? `at most ${format(most)}` : ' '}</p>
    </figure>
  );
}
