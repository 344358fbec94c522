// Runs after each install, on whatever Node there is. Makes the Node that came as a package the `node` of npm scripts and npx.
// npm links it itself; but npm 10 takes the link away again with the packages for other processors, which have one of that name.
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = fileURLToPath(new URL('../node_modules/', import.meta.url));
const link = join(modules, '.bin/node');
const node = `node-${process.platform}-${process.arch}/bin/node`;
if (existsSync(join(modules, node))) {
  mkdirSync(join(modules, '.bin'), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(join('..', node), link);
}
