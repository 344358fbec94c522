import { execFileSync } from 'node:child_process';

/** Builds the console before the tests, so that they see what is there now. */
export default function setup(): void {
  execFileSync(process.execPath, ['console/build.js']);
}
