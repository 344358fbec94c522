import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Caches compiled code, so that the next start does not compile it again. The cache is among the packages: a user who can
// write there can change the code anyway. If the folder is read-only, a start only takes longer.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/plantstore', import.meta.url)));
// Node strips no types under node_modules, so an installed package contains compiled code (scripts/pack.js).
const isInstalled = import.meta.url.includes('/node_modules/');
await import(isInstalled ? '../dist/service/src/cli/main.js' : '../src/cli/main.ts');
