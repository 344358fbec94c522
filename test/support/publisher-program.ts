// A publishing instance in its own process, which can be killed or frozen. Prints each change of its status as a JSON
// line on stdout.
import type { KafkaOptions } from '../../src/publisher/kafka/kafka-topic.ts';
import { Instance } from './publication.ts';

const [directory, options] = process.argv.slice(2) as [string, string];
const report = (change: unknown) => process.stdout.write(`${JSON.stringify(change)}\n`);
const instance = await Instance.start(directory, JSON.parse(options) as KafkaOptions, report);
process.once('SIGTERM', () => instance[Symbol.asyncDispose]());
