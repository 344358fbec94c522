import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a folder. `onEnd`: the hook that removes it, which is `afterAll` of a suite or `onTestFinished` of a test. */
export function temporaryDirectory(onEnd: (remove: () => void) => void): string {
  const directory = mkdtempSync(join(tmpdir(), 'plantstore-test-'));
  onEnd(() => rmSync(directory, { recursive: true }));
  return directory;
}
