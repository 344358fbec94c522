import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { freePort } from './free-port.ts';
import { freeze } from './freeze.ts';

/** One mongod in its own process. Port and directory stay the same after a restart. */
export class Mongod {
  readonly port: number;
  readonly #binary: string;
  readonly #args: readonly string[];
  readonly #directory = mkdtempSync(join(tmpdir(), 'plantstore-mongod-'));
  #process: ChildProcess | undefined;

  private constructor(binary: string, port: number, args: readonly string[]) {
    this.#binary = binary;
    this.port = port;
    this.#args = args;
  }

  /** Starts a mongod on a free port. */
  static async start(binary: string, ...args: string[]): Promise<Mongod> {
    const mongod = new Mongod(binary, await freePort(), args);
    await mongod.start();
    return mongod;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** URI that connects to this member only, in any state. */
  get uri(): string {
    return `mongodb://${this.address}/?directConnection=true`;
  }

  /** Starts it if it is not running. Resolves when it listens. */
  async start(): Promise<void> {
    if (this.#process !== undefined && running.has(this.#process)) return;
    const options = ['--dbpath', this.#directory, '--port', `${this.port}`, '--bind_ip', '127.0.0.1', '--nounixsocket'];
    const small = ['--wiredTigerCacheSizeGB', '0.25', '--setParameter', 'diagnosticDataCollectionEnabled=false'];
    const child = spawn(this.#binary, [...options, ...small, '--setParameter', 'enableTestCommands=1', ...this.#args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#process = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    await listening(child);
  }

  /** Freezes it. Resolves when it stands still. */
  freeze(): Promise<void> {
    return freeze(this.#process!);
  }

  /** Sends a signal: SIGSTOP freezes it, SIGCONT wakes it. */
  signal(signal: NodeJS.Signals): void {
    this.#process!.kill(signal);
  }

  /** Kills it, like a power failure. */
  async kill(): Promise<void> {
    const child = this.#process!;
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Stops it and removes its data. */
  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Runs a command on this member's admin database. */
  command(command: Record<string, unknown>): Promise<Record<string, unknown>> {
    return adminCommand(this.uri, command);
  }
}

/** Runs a command on the admin database at a URI. */
export async function adminCommand(uri: string, command: Record<string, unknown>): Promise<Record<string, unknown>> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 5_000 });
  try {
    return await client.db('admin').command(command);
  } finally {
    await client.close();
  }
}

/** Processes that end with this one. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Resolves when a mongod accepts connections. */
function listening({ stdout }: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    const read = (chunk: Buffer) => {
      log += chunk;
      if (!log.includes('"Waiting for connections"')) return;
      stdout!.off('data', read);
      stdout!.resume();
      resolve();
    };
    stdout!.on('data', read);
    stdout!.once('end', () => reject(new Error(`mongod ended: ${log.slice(-2_000)}`)));
  });
}
