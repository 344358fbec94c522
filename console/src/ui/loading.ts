import { usable } from '../session.ts';

/** What a pane says until it has something to show: nothing while there is no token to read it with. */
export const loading = (): string => (usable.value === undefined ? '' : 'Loading…');
