import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ERRORS } from '../../src/domain/errors.ts';
import { codeName } from '../../src/observe/request.ts';

const PAGES = globSync(['*.md', 'docs/**/*.md']);
const ALERTS = 'docs/alerts.yaml';

const textOf = (page: string) => readFileSync(page, 'utf8');

/** The anchors that GitHub gives to the headings of a page. */
const anchorsOf = (page: string): string[] =>
  textOf(page)
    .replaceAll(/^```.*?^```$/gms, '')
    .matchAll(/^#+ (.+)$/gm)
    .map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    )
    .toArray();

test.each(PAGES)('every link of %s leads somewhere', (page) => {
  const links = textOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g);
  for (const [link, path, anchor] of links) {
    const target = path === '' ? page : join(dirname(page), path!);
    expect(existsSync(target), link).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(target), link).toContain(anchor);
  }
});

test.each(PAGES)('every test that %s names is there', (page) => {
  for (const [path] of textOf(page).matchAll(/\btest\/[\w./-]+\.ts\b/g)) expect(existsSync(path), path).toBe(true);
});

test('operations.md says what each alert means', () => {
  const { groups }: { groups: { rules: { alert?: string }[] }[] } = parse(textOf(ALERTS));
  const rules = groups.flatMap((group) => group.rules.flatMap(({ alert }) => alert ?? []));
  const rows = textOf('docs/operations.md')
    .matchAll(/^\| `(Plantstore\w+)` +\|/gm)
    .map(([, alert]) => alert!);
  expect([...rows]).toEqual(rules);
});

/** Without what the commands of calling.md make beside them. */
const EXAMPLES = globSync('examples/**/*.{js,json,py,go,yaml}', {
  exclude: ['**/{gen,node_modules}/**', '**/{*_pb2*.py,package-lock.json}', 'examples/client/package.json'],
});

/** The programs and settings that calling.md shows. */
const SHOWN = textOf('docs/calling.md')
  .matchAll(/^```(?:js|json|ts|python|go|yaml)\n(.*?)^```$/gms)
  .map(([, block]) => block!)
  .toArray();

test.each(EXAMPLES)('calling.md shows %s as it is', (example) => {
  expect(SHOWN).toContain(textOf(example));
});

test('calling.md shows no program but the examples, which test/full/interop/examples.test.ts runs', () => {
  expect(SHOWN.filter((block) => !EXAMPLES.map(textOf).includes(block))).toEqual([]);
});

test('calling.md gives each reason over REST the status and the code that it has', () => {
  const [, section] = textOf('docs/calling.md').split('### Over REST\n');
  const rows = section!.matchAll(/^\| (\d{3}) +\| ([A-Z_, ]+?) +\| (\d+) ([A-Z_]+) /gm).toArray();
  const told = rows.flatMap(([, status, reasons, code, name]) =>
    reasons!.split(', ').map((reason) => [reason, { status: Number(status), code: Number(code) }, name] as const),
  );
  expect(told.map(([, { code }]) => codeName(code))).toEqual(told.map(([, , name]) => name));
  const { WATCH_TOO_SLOW, OWNER_BEING_ERASED, COUNT_OUTDATED, MAY_NOT_ERASE, CANCELLED, ...ofRest } = ERRORS;
  const kinds = Object.entries(ofRest).map(([reason, { status, code }]) => [reason, { status, code }]);
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(kinds));
});
