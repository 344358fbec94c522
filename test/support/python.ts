import { homedir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.ts';
import { cached, orUntested } from './tools.ts';

/**
 * A Python with these packages (`name==version`), in its own environment; undefined without python3, venv or registry.
 */
export const findPython = (packages: readonly string[]): Promise<string | undefined> =>
  orUntested('clients in Python, since it cannot be set up', async () => {
    const name = `python-${packages.join('-').replaceAll('==', '-')}`;
    const environment = await cached(name, async (draft) => {
      await succeed('python3', ['-m', 'venv', draft]);
      await succeed(join(draft, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...packages]);
    });
    return join(environment, 'bin', 'python');
  });

async function succeed(program: string, args: readonly string[]): Promise<void> {
  const { code, stderr } = await run(program, args, { HOME: homedir() });
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
}
