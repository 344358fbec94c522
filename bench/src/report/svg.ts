const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => ESCAPES[character]!);

/** Colours that people with any colour vision tell apart (Okabe and Ito). */
export const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#d55e00', '#56b4e9', '#999999', '#f0e442'];

/** Text whose baseline begins (or, by its attributes, ends) at a point. */
export const text = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escaped(content)}</text>`;

/** A filled rectangle; x and y are its upper left corner. */
export const rectangle = (x: number, y: number, width: number, height: number, colour: string): string =>
  `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}" fill="${colour}"/>`;

/** A line through some points. */
export const polyline = (points: readonly (readonly [number, number])[], colour: string): string =>
  `<polyline points="${points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`;

/** A picture of some elements on white, so that it can be read on any page. */
export const picture = (width: number, height: number, elements: readonly string[]): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    ...elements,
    '</svg>\n',
  ].join('\n');
