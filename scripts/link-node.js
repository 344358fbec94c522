// Runs after each install, on whatever Node there is. Makes the Node that came as a package the `node` of npm scripts and npx.
// npm links it itself; but npm 10 takes the link away again with the packages for other processors, which have one of that name.
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const node = `node-${process.platform}-${process.arch}/bin/node`;
// In a checkout the packages are in it; where this is a package itself, they are beside it.
for (const place of ['../node_modules/', '../../']) {
  const modules = fileURLToPath(new URL(place, import.meta.url));
  if (!modules.endsWith('node_modules/') || !existsSync(join(modules, node))) continue;
  const link = join(modules, '.bin/node');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(join('..', node), link);
}
