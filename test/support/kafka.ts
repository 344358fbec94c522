import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

/** A small heap and no optimisation, because a test broker lives for seconds. */
const JVM = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
const LOG_LEVELS = ['defaultLogLevel=error', 'log.kafka.server.KafkaRaftServer=info'].map(
  (level) => `-Dorg.slf4j.simpleLogger.${level}`,
);
/** Log line of a broker that accepts clients. */
const STARTED = 'Kafka Server started';

/** Kafka's cluster id. Any constant works. */
const CLUSTER = 'cGxhbnRzdG9yZS10ZXN0cw';

/** Additional settings of a broker. */
export interface KafkaExtras {
  /** Addresses by the name of the listener. */
  readonly listeners?: Readonly<Record<string, string>>;
  /** Lines of its server.properties. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Arguments of kafka-storage format. */
  readonly format?: readonly string[];
}

/** A Kafka of one node in its own process. Ports and directory stay the same after a restart. */
export class Kafka implements AsyncDisposable {
  /** Addresses for clients. */
  readonly brokers: readonly string[];
  readonly #classPath: string;
  readonly #directory = mkdtempSync(join(tmpdir(), 'plantstore-kafka-'));
  #process: ChildProcess | undefined;

  private constructor(classPath: string, brokers: readonly string[]) {
    this.#classPath = classPath;
    this.brokers = brokers;
  }

  /** The Kafka of KAFKA_TEST_BROKERS, whose process is not managed, or a new one. */
  static async given(classPath: string, extras?: KafkaExtras): Promise<Kafka> {
    const brokers = process.env.KAFKA_TEST_BROKERS;
    return brokers === undefined ? Kafka.start(classPath, extras) : new Kafka(classPath, brokers.split(','));
  }

  /** Starts a new broker on free ports. */
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

  /** Restarts it after `stop` or `kill`, with the same data. Resolves when it accepts clients. */
  async restart(): Promise<void> {
    const child = this.spawn('kafka.Kafka', this.#config);
    this.#process = child;
    await started(child);
  }

  /** Sends a signal: SIGSTOP freezes it, SIGCONT wakes it. */
  signal(signal: NodeJS.Signals): void {
    this.#process!.kill(signal);
  }

  /** Stops it gracefully, and waits for its end. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** Kills it. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Runs one of Kafka's tools. Resolves with its stdout; rejects if it fails. */
  async run(mainClass: string, ...args: string[]): Promise<string> {
    const options = [...JVM, ...LOG_LEVELS, '-cp', this.#classPath, mainClass, ...args];
    return (await promisify(execFile)('java', options, { maxBuffer: 1 << 28 })).stdout;
  }

  /** Starts one of Kafka's programs. It ends at the latest with this process. */
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
  // After a kill, the controller waits this long before it admits the same broker again. A broker that has no CPU for
  // that long is fenced too.
  'broker.session.timeout.ms': '9000',
  'broker.heartbeat.interval.ms': '500',
  'num.partitions': '3',
});

/** Processes that end with this one. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Resolves when a broker has started. Rejects with its output if it ends before. */
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
