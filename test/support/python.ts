import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.ts';

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'plantstore-test');

/**
 * A Python with these packages (`name==version`), in its own environment, stored in the user's cache. Without python3,
 * its venv or the registry, says so on stderr and returns undefined; with CI set, rejects.
 */
export async function findPython(packages: readonly string[]): Promise<string | undefined> {
  const environment = join(CACHE, `python-${packages.join('-').replaceAll('==', '-')}`);
  const python = join(environment, 'bin', 'python');
  try {
    if (!(await exists(environment))) await install(packages, environment);
    return python;
  } catch (error) {
    if (process.env.CI === 'true') throw error;
    console.error(`\nNOT TESTED: clients in Python, since it cannot be set up: ${(error as Error).message}\n`);
    return undefined;
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Safe for concurrent processes: each uses its own directory, and the first complete one stays. */
async function install(packages: readonly string[], to: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const directory = await mkdtemp(join(CACHE, 'python-'));
  try {
    const home = { HOME: homedir() };
    await succeed('python3', ['-m', 'venv', directory], home);
    await succeed(join(directory, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...packages], home);
    await rename(directory, to).catch(async (error) => {
      if (!(await exists(to))) throw error;
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function succeed(program: string, args: readonly string[], environment: Record<string, string>): Promise<void> {
  const { code, stderr } = await run(program, args, environment);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
}
