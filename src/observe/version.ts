import { readFileSync } from 'node:fs';

/** Version of the program (semver.org), from package.json. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
