// One instance that publishes, as a process of its own that can be killed or frozen: its status changes go to stdout, a JSON line each.
import type { KafkaOptions } from '../../src/publisher/kafka/kafka-topic.ts';
import { Instance } from './publication.ts';

const [directory, options] = process.argv.slice(2) as [string, string];
const report = (change: unknown) => process.stdout.write(`${JSON.stringify(change)}\n`);
const instance = await Instance.start(directory, JSON.parse(options) as KafkaOptions, report);
process.once('SIGTERM', () => instance[Symbol.asyncDispose]());
