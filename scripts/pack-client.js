// Compiles plantstore-client, whose folder is the working directory, before npm packs it.
import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';

rmSync('dist', { recursive: true, force: true });
execFileSync('npx', ['tsc', '-p', '.'], { stdio: 'inherit' });
copyFileSync('../LICENSE', 'LICENSE');
