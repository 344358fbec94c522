import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

/** A small heap, and no time spent on optimising: a broker lives for seconds here. */
const JVM = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
const LOG_LEVELS = ['defaultLogLevel=error', 'log.kafka.server.KafkaRaftServer=info'].map(
  (level) => `-Dorg.slf4j.simpleLogger.${level}`,
);
/** What a broker logs when it takes clients. */
const STARTED = 'Kafka Server started';

/** Kafka's cluster id; any would do, as long as it stays. */
const CLUSTER = 'cGxhbnRzdG9yZS10ZXN0cw';

/** What a broker has beside what it has anyway. */
export interface KafkaExtras {
  /** Addresses by the name of the listener. */
  readonly listeners?: Readonly<Record<string, string>>;
  /** Lines of its server.properties. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Arguments of kafka-storage format. */
  readonly format?: readonly string[];
}

/** A Kafka of one node: a process of its own on ports and a directory of its own, which outlive a restart. */
export class Kafka implements AsyncDisposable {
  /** What clients connect to. */
  readonly brokers: readonly string[];
  readonly #classPath: string;
  readonly #directory = mkdtempSync(join(tmpdir(), 'plantstore-kafka-'));
  #process: ChildProcess | undefined;

  private constructor(classPath: string, brokers: readonly string[]) {
    this.#classPath = classPath;
    this.brokers = brokers;
  }

  /** The Kafka that KAFKA_TEST_BROKERS names, whose process is left alone, or one of its own. */
  static async given(classPath: string, extras?: KafkaExtras): Promise<Kafka> {
    const brokers = process.env.KAFKA_TEST_BROKERS;
    return brokers === undefined ? Kafka.start(classPath, extras) : new Kafka(classPath, brokers.split(','));
  }

  /** Starts a broker of its own on free ports. */
  static async start(
    classPath: string,
    { listeners = {}, settings = {}, format = [] }: KafkaExtras = {},
  ): Promise<Kafka> {
    const address = `127.0.0.1:${await freePort()}`;
    const kafka = new Kafka(classPath, [address]);
    const all = { CONTROLLER: `127.0.0.1:${await freePort()}`, PLAINTEXT: address, ...listeners };
    const properties = Object.entries({ ...defaults(all, kafka.#directory), ...settings });
    writeFileSync(kafka.#config, properties.map(([name, value]) => `${name}=${value}\n`).join(''));
    await kafka.run('kafka.tools.StorageTool', 'format', '-t', CLUSTER, '-c', kafka.#config, ...format);
    await kafka.restart();
    return kafka;
  }

  get #config(): string {
    return join(this.#directory, 'server.properties');
  }

  /** Starts it again after `stop` or `kill`, with the same data. Resolves when it takes clients. */
  async restart(): Promise<void> {
    const child = this.spawn('kafka.Kafka', this.#config);
    this.#process = child;
    await started(child);
  }

  /** Sends a signal: SIGSTOP freezes it, SIGCONT wakes it. */
  signal(signal: NodeJS.Signals): void {
    this.#process!.kill(signal);
  }

  /** Asks it to stop, and waits until it has. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Runs one of Kafka's own tools to its end. Resolves with its stdout; rejects when it fails. */
  async run(mainClass: string, ...args: string[]): Promise<string> {
    const options = [...JVM, ...LOG_LEVELS, '-cp', this.#classPath, mainClass, ...args];
    return (await promisify(execFile)('java', options, { maxBuffer: 1 << 28 })).stdout;
  }

  /** Starts one of Kafka's programs, which ends with this process at the latest. */
  spawn(mainClass: string, ...args: string[]): ChildProcess {
    const options = [...JVM, ...LOG_LEVELS, '-cp', this.#classPath, mainClass, ...args];
    const child = spawn('java', options, { stdio: ['pipe', 'pipe', 'pipe'] });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }
}

const defaults = (listeners: Record<'CONTROLLER', string>, directory: string): Record<string, string> => ({
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.quorum.voters': `1@${listeners.CONTROLLER}`,
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL',
  'inter.broker.listener.name': 'PLAINTEXT',
  listeners: Object.entries(listeners)
    .map(([name, address]) => `${name}://${address}`)
    .join(),
  'log.dirs': join(directory, 'data'),
  'auto.create.topics.enable': 'false',
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'transaction.state.log.num.partitions': '1',
  'group.initial.rebalance.delay.ms': '0',
  'log.cleaner.dedupe.buffer.size': '2000000',
  // After a kill the controller waits so long before it lets the same broker in again.
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '500',
  'num.partitions': '3',
});

/** Processes that end with this one. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Resolves when a broker says that it has started. Rejects, with what it said, when it ends before. */
function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk: Buffer) => {
      output = (output + chunk).slice(-8_000);
      if (output.includes(STARTED)) resolve();
    };
    child.stdout!.on('data', read);
    child.stderr!.on('data', read);
    child.once('exit', () => reject(new Error(`Kafka ended:\n${output}`)));
  });
}
