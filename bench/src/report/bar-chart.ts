import { type Comparison, median } from '../compare.ts';
import { OURS } from '../works.ts';
import { COLOURS, picture, rectangle, text } from './svg.ts';

const [WIDTH, LEFT, BAR, GAP, TITLE] = [900, 200, 18, 26, 22];
const LONGEST = WIDTH - LEFT - 110;

const OTHERS = '#bbbbbb';

/**
 * A group of bars for each work: the requests a second of each side, the fastest as long as there is room. Ours stands
 * out.
 */
export function barChart(title: string, comparison: Comparison): string {
  const elements = [text(16, 28, title, 'font-size="16" font-weight="bold"')];
  let y = 56;
  for (const [work, sides] of Object.entries(comparison)) {
    elements.push(text(16, y, `${work}, a second`, 'font-weight="bold"'));
    y += TITLE - 12;
    const rates = Object.entries(sides).map(
      ([name, windows]) => [name, median(windows.map(({ rate }) => rate))] as const,
    );
    const most = Math.max(...rates.map(([, rate]) => rate));
    for (const [name, rate] of rates) {
      const length = (rate / most) * LONGEST;
      elements.push(
        text(LEFT - 8, y + 13, name, 'text-anchor="end"'),
        rectangle(LEFT, y, length, BAR - 3, name === OURS ? COLOURS[0]! : OTHERS),
        text(LEFT + length + 6, y + 13, Math.round(rate).toLocaleString('en')),
      );
      y += BAR;
    }
    y += GAP;
  }
  return picture(WIDTH, y, elements);
}
