import { signal } from '@preact/signals';
import { takeTokenFromAddress } from './session.ts';

/** A place in the console: `#/<pane>?<name>=<value>&...`. */
export interface Route {
  readonly pane: string;
  readonly query: URLSearchParams;
}

/** The current place. */
export const route = signal<Route>(parse(location.hash));

/** The address of a pane. Values that are undefined or empty are left out. */
export function linkTo(pane: string, values: Readonly<Record<string, string | undefined>> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, value);
  const text = query.toString();
  return text === '' ? `#/${pane}` : `#/${pane}?${text}`;
}

/** Milliseconds between two changes of the address: browsers bound how many there are. Fast ones are left out. */
const CHANGE_INTERVAL = 200;
let due: ReturnType<typeof setTimeout> | undefined;
let changedAt = 0;

/** Goes there without a step in the history, for text that changes while the user types. */
export function replaceRoute(pane: string, values: Readonly<Record<string, string | undefined>>): void {
  const link = linkTo(pane, values);
  route.value = parse(link);
  clearTimeout(due);
  const change = () => {
    changedAt = Date.now();
    history.replaceState(null, '', link);
  };
  if (Date.now() >= changedAt + CHANGE_INTERVAL) change();
  else due = setTimeout(change, CHANGE_INTERVAL);
}

/** Follows the address bar from now on. */
export function startRouter(): void {
  addEventListener('hashchange', () => {
    clearTimeout(due);
    takeTokenFromAddress();
    route.value = parse(location.hash);
  });
  route.value = parse(location.hash);
}

function parse(hash: string): Route {
  const [pane = '', query] = hash.replace(/^#\/?/, '').split('?', 2);
  return { pane, query: new URLSearchParams(query) };
}
