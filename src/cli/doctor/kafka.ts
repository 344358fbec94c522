import type { Config } from '../../config.ts';
import { fromCommitted } from '../../publisher/kafka/checkpoint.ts';
import { KafkaClient } from '../../publisher/kafka/client.ts';
import { within } from '../../publisher/kafka/deadline.ts';
import { namesFor } from '../../publisher/kafka/names.ts';
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts';

/** Most milliseconds for all answers of Kafka. */
const LIMIT = 30_000;

/** Examines the topic and the publisher's checkpoint. `end` is the last position of the log, if known. */
export async function examineKafka(
  settings: NonNullable<Config['kafka']>,
  end: number | undefined,
): Promise<Finding[]> {
  const client = new KafkaClient(settings);
  try {
    return await within(LIMIT, examined(client, settings.topic, end));
  } catch (error) {
    return [fail('kafka', `${settings.brokers.join()}: ${reasonOf(error)}`)];
  } finally {
    client.close();
  }
}

async function examined(client: KafkaClient, name: string, end: number | undefined): Promise<Finding[]> {
  await client.connect();
  const { topic, checkpoint, group } = namesFor(name);
  const committed = (await client.hasTopic(checkpoint)) ? await client.committed(group, checkpoint) : undefined;
  if (!(await client.hasTopic(topic)))
    return [
      committed !== undefined && committed.offset > 0
        ? fail(
            'kafka',
            `the topic ${topic} is gone, after ${committed.offset} events were published: see docs/events.md`,
          )
        : ok('kafka', `the topic ${topic} does not exist yet: the service creates it if Kafka allows`),
    ];
  const ranges = await client.ranges(topic);
  const found = ok('kafka', `the topic ${topic} has ${ranges.length} partitions`);
  if (committed === undefined) {
    const isEmpty = ranges.every(({ high }) => high === 0);
    return [
      found,
      isEmpty
        ? ok('checkpoint', 'nothing has been published yet')
        : warn('checkpoint', 'Kafka has lost it: the publisher will continue after the last event on the topic'),
    ];
  }
  const { position, ends } = fromCommitted(committed);
  const findings = [found];
  if (ends.length < ranges.length)
    findings.push(
      warn('kafka', `events go only to its first ${ends.length} partitions, the number it had at the first event`),
    );
  if (end === undefined) return findings;
  const waiting = end - position;
  if (waiting < 0)
    findings.push(
      fail('checkpoint', `the topic reaches position ${position}, but the log ends at ${end}: see docs/events.md`),
    );
  else if (waiting > 0)
    findings.push(warn('checkpoint', `${waiting} events wait to be published; /readyz of the service says why`));
  else findings.push(ok('checkpoint', `every event up to position ${position} is published`));
  return findings;
}
