import { COLOURS, picture, polyline, text } from './svg.ts';

/** A line of a chart; y is above 0. */
export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** A chart with logarithmic axes, so that what does not depend on x is flat, and what grows with it has slope 1. */
export interface LineChart {
  readonly title: string;
  readonly x: string;
  readonly series: readonly Series[];
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [900, 300, 70, 250, 40, 46];

/** The charts below each other. */
export const lineCharts = (charts: readonly LineChart[]): string =>
  picture(
    WIDTH,
    HEIGHT * charts.length,
    charts.map((chart, index) => `<g transform="translate(0 ${index * HEIGHT})">\n${lines(chart)}\n</g>`),
  );

function lines({ title, x, series }: LineChart): string {
  const points = series.flatMap((one) => one.points);
  const [xs, ys] = [decades(points.map(([value]) => value)), decades(points.map(([, value]) => value))];
  const across = (value: number) => LEFT + place(xs, value) * (WIDTH - LEFT - RIGHT);
  const up = (value: number) => HEIGHT - BOTTOM - place(ys, value) * (HEIGHT - TOP - BOTTOM);
  const grid = (values: readonly number[], mark: (value: number) => string) => values.map(mark);
  return [
    text(16, 22, title, 'font-size="14" font-weight="bold"'),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x, 'text-anchor="middle"'),
    ...grid(xs, (value) => text(across(value), HEIGHT - BOTTOM + 18, short(value), 'text-anchor="middle"')),
    ...grid(ys, (value) => text(LEFT - 8, up(value) + 4, short(value), 'text-anchor="end"')),
    ...grid(ys, (value) =>
      polyline(
        [
          [LEFT, up(value)],
          [WIDTH - RIGHT, up(value)],
        ],
        '#dddddd',
      ),
    ),
    ...series.flatMap(({ name, points }, index) => {
      const colour = COLOURS[index % COLOURS.length]!;
      const last = points.at(-1)!;
      return [
        polyline(
          points.map(([a, b]) => [across(a), up(b)] as const),
          colour,
        ),
        text(WIDTH - RIGHT + 10, TOP + 16 * index + 10, `${name}: ${short(last[1])}`, `fill="${colour}"`),
      ];
    }),
  ].join('\n');
}

/** The powers of ten around some values. */
function decades(values: readonly number[]): number[] {
  const from = Math.floor(Math.log10(Math.min(...values)));
  const to = Math.max(Math.ceil(Math.log10(Math.max(...values))), from + 1);
  return Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index));
}

const place = (axis: readonly number[], value: number): number =>
  Math.log10(value / axis[0]!) / Math.log10(axis.at(-1)! / axis[0]!);

const short = (value: number): string =>
  value >= 1_000
    ? new Intl.NumberFormat('en', { notation: 'compact' }).format(value)
    : `${Number(value.toPrecision(2))}`;
