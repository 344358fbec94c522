import { HASH_HEADER, OWNER_ERASED, POSITION_HEADER } from '../message.ts';
import { MismatchError } from '../topic.ts';
import { type KafkaClient, type OffsetRange, partitioner, within } from './client.ts';
import { TopicReader, type TopicRecord } from './reader.ts';
import { emptyCheckpoint, fromCommitted, type Names, type PublisherCheckpoint, reaches } from './topics.ts';

/** Most milliseconds for reading checkpoint and offsets. */
const READ_LIMIT = 30_000;

/** Where publication continues. */
export interface ResumePoint {
  readonly checkpoint: PublisherCheckpoint;
  /** What an operator should know. */
  readonly notice: string | undefined;
}

/**
 * Finds where to continue: at the checkpoint, if the topic ends with its events; without a checkpoint, after the last
 * event on the topic. No publisher may run meanwhile. Rejects with MismatchError if topic and checkpoint disagree.
 */
export async function resumePoint(client: KafkaClient, names: Names): Promise<ResumePoint> {
  const asked = Promise.all([client.committed(names.group, names.checkpoint), client.ranges(names.topic)]);
  const [committed, ranges] = await within(READ_LIMIT, asked);
  if (committed === undefined) return adopt(client, names, ranges);
  const checkpoint = fromCommitted(committed);
  await compare(client, names, checkpoint, ranges);
  const { ends } = checkpoint;
  return { checkpoint, notice: ranges.length === ends.length ? undefined : grown(ranges.length, ends.length) };
}

/**
 * Rejects unless each partition ends with the record that the checkpoint names, or retention has removed that. The last
 * event of the checkpoint may have none: erased events have no message.
 */
async function compare(
  client: KafkaClient,
  names: Names,
  checkpoint: PublisherCheckpoint,
  ranges: readonly OffsetRange[],
): Promise<void> {
  const { position, ends } = checkpoint;
  const lost = new MismatchError(
    `the topic ${names.topic} has lost published events, up to position ${position}: it was deleted, or restored from a backup`,
  );
  if (!reaches(ranges, checkpoint)) throw lost;
  const missing = new Set([...ends.keys()].filter((partition) => ends[partition]! >= ranges[partition]!.low));
  for await (const [partition, record] of records(client, names, ends)) {
    const found = positionOf(record, names);
    if (record.offset !== ends[partition] || found > position)
      throw new MismatchError(
        `the topic ${names.topic} has position ${found}, but the checkpoint is at ${position}: the checkpoint was reset, or another program publishes`,
      );
    missing.delete(partition);
  }
  if (missing.size > 0) throw lost;
}

/**
 * Reconstructs a lost checkpoint from the topic. Events arrive in whole transactions, so the records show where the
 * topic ends, and over how many partitions keys are distributed. Rejects with MismatchError if they do not.
 */
export async function adopt(client: KafkaClient, names: Names, ranges: readonly OffsetRange[]): Promise<ResumePoint> {
  const empty = emptyCheckpoint(ranges.length);
  let spreads = spreadsUpTo(ranges.length);
  let { position, hash } = empty;
  const ends = [...empty.ends];
  for await (const [partition, record] of records(client, names, ends)) {
    ends[partition] = record.offset;
    // An OwnerErased is in every partition.
    if (record.headers.ce_type !== OWNER_ERASED)
      spreads = spreads.filter(({ partitionOf }) => partitionOf(record.key) === partition);
    const found = positionOf(record, names);
    if (found > position) [position, hash] = [found, record.headers[HASH_HEADER] ?? ''];
  }
  // One of these may have had the last event of all.
  const emptied = [...ends.keys()].filter((partition) => ranges[partition]!.low > 0 && ends[partition] === -1);
  if (emptied.length > 0)
    throw new MismatchError(
      `the topic ${names.topic} has lost all records of partition ${emptied.join(', ')}, and there is no checkpoint: the publisher cannot tell where to continue`,
    );
  if (position === 0) return { checkpoint: empty, notice: undefined };
  const partitions = spreads[0]?.partitions;
  if (partitions === undefined)
    throw new MismatchError(
      `the topic ${names.topic} has events in partitions that do not match their keys, and there is no checkpoint: the publisher cannot tell where to continue`,
    );
  const adopted = `there was no checkpoint; publication resumed after position ${position}, the last on the topic`;
  return {
    checkpoint: { position, hash, ends: ends.slice(0, partitions) },
    notice: partitions === ranges.length ? adopted : `${adopted}; ${grown(ranges.length, partitions)}`,
  };
}

/**
 * The numbers of partitions over which a topic's keys may be distributed, the largest first. Each record rules out
 * those that would put its key into another partition. Any that remains keeps every known plant in its partition, so
 * its events stay in order. The largest of them wins: the topic had that many when the events were published, or has
 * got them since. A topic's number of partitions never decreases.
 */
const spreadsUpTo = (partitions: number) =>
  Array.from({ length: partitions }, (_, index) => {
    const count = partitions - index;
    return { partitions: count, partitionOf: partitioner(count) };
  });

const grown = (has: number, used: number): string =>
  `the topic has ${has} partitions, but events go only to its first ${used}, so that a plant's events stay in one partition`;

/** The committed records of each partition from its end in `ends`. */
async function* records(
  client: KafkaClient,
  { topic, group }: Names,
  ends: readonly number[],
): AsyncGenerator<[number, TopicRecord]> {
  const from = ends.map((end) => Math.max(end, 0));
  const reader = await TopicReader.open(client, topic, group, from);
  try {
    for (const partition of from.keys()) {
      for (let record = await reader.peek(partition); record !== undefined; record = await reader.peek(partition)) {
        reader.take(partition);
        yield [partition, record];
      }
    }
  } finally {
    await reader.close();
  }
}

function positionOf({ headers, offset }: TopicRecord, { topic }: Names): number {
  const position = Number(headers[POSITION_HEADER]);
  if (Number.isSafeInteger(position) && position > 0) return position;
  throw new MismatchError(
    `the topic ${topic} has a record, at offset ${offset}, that is not an event of a plant store`,
  );
}
