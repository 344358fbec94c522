import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Compiled code is kept, so that the next start does not compile it again: among the packages, where whoever may write could
// change the code itself. Where nothing can be written, a start only takes longer.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/plantstore', import.meta.url)));
// Node strips no types of what is installed: a package has all compiled (scripts/pack.js).
const isInstalled = import.meta.url.includes('/node_modules/');
await import(isInstalled ? '../dist/service/src/cli/main.js' : '../src/cli/main.ts');
