import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A fresh clone of the project as it stands, changes included: nothing is installed in it. */
export class CleanClone implements Disposable {
  readonly path: string;

  constructor() {
    this.path = mkdtempSync(join(tmpdir(), 'plantstore-clone-'));
    const files = execFileSync('git', [
      'ls-files',
      '-z',
      '--cached',
      '--others',
      '--exclude-standard',
      '--deduplicate',
    ]);
    for (const file of files.toString().split('\0').slice(0, -1))
      cpSync(file, join(this.path, file), { errorOnExist: false, force: true });
    this.#git('init', '--quiet', '--initial-branch', 'main');
    this.#git('add', '--all');
    this.#git('-c', 'user.name=test', '-c', 'user.email=test@localhost', 'commit', '--quiet', '--message', 'all');
  }

  /** The path of something in it. */
  file(...names: string[]): string {
    return join(this.path, ...names);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  #git(...args: string[]): void {
    execFileSync('git', ['-C', this.path, ...args]);
  }
}
