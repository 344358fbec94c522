// Runs after each install, on any Node. Makes the Node that is installed as a package the `node` of npm scripts and
// npx. npm links it, but npm 10 removes the link with the packages for other processors, which have a link of the same
// name.
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const node = `node-${process.platform}-${process.arch}/bin/node`;
// A checkout contains the packages; an installed package has them beside it.
for (const place of ['../node_modules/', '../../']) {
  const modules = fileURLToPath(new URL(place, import.meta.url));
  if (!modules.endsWith('node_modules/') || !existsSync(join(modules, node))) continue;
  const link = join(modules, '.bin/node');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(join('..', node), link);
}
