// Fails if gen/ differs from what `npm run generate` makes of the proto files.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

function read(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length + 1), readFileSync(path, 'utf8')];
    }),
  );
}

const folder = mkdtempSync(join(tmpdir(), 'plantstore-generated-'));
try {
  execFileSync('buf', ['generate', '--output', folder], { stdio: ['ignore', 'inherit', 'inherit'] });
  execFileSync('node', ['scripts/openapi/document.ts', join(folder, 'gen/openapi.json')], { stdio: 'inherit' });
  const fresh = read(join(folder, 'gen'));
  const committed = read('gen');
  const drifted = [...new Set([...fresh.keys(), ...committed.keys()])].filter(
    (path) => fresh.get(path) !== committed.get(path),
  );
  for (const path of drifted) console.error(`gen/${path} does not match the proto files; run npm run generate`);
  process.exitCode = drifted.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
