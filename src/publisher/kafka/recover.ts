import { HASH_HEADER, POSITION_HEADER } from '../message.ts';
import { TopicMismatchError } from '../topic.ts';
import { type Checkpoint, emptyCheckpoint, fromCommitted, reaches } from './checkpoint.ts';
import type { KafkaClient } from './client.ts';
import type { Range, TopicRecord } from './client-types.ts';
import { within } from './deadline.ts';
import type { Names } from './names.ts';
import { TopicReader } from './reader.ts';

/** Milliseconds that Kafka may take to tell of checkpoint and topic. */
const LIMIT = 30_000;

/** Where publication goes on. */
export interface Recovered {
  readonly checkpoint: Checkpoint;
  /** What an operator should know of. */
  readonly notice: string | undefined;
}

/**
 * Finds out where to go on: at the checkpoint, if the topic ends with the events that it speaks of; without one, after the last
 * event that the topic holds. Nobody may publish meanwhile. Rejects with TopicMismatchError when the two disagree.
 */
export async function recover(client: KafkaClient, names: Names): Promise<Recovered> {
  const [committed, ranges] = await within(LIMIT, asked(client, names));
  if (committed === undefined) return adopt(client, names, ranges);
  const checkpoint = fromCommitted(committed);
  await compare(client, names, checkpoint, ranges);
  const { ends } = checkpoint;
  const grown = `the topic has ${ranges.length} partitions, and events go on to its first ${ends.length}, so that a plant's events stay in one`;
  return { checkpoint, notice: ranges.length === ends.length ? undefined : grown };
}

const asked = async (client: KafkaClient, { group, checkpoint, topic }: Names) =>
  [await client.committed(group, checkpoint), await client.ranges(topic)] as const;

/** The topic has to hold the last events that the checkpoint speaks of, and nothing after them. */
async function compare(
  client: KafkaClient,
  names: Names,
  checkpoint: Checkpoint,
  ranges: readonly Range[],
): Promise<void> {
  const { position, ends } = checkpoint;
  const lost = new TopicMismatchError(
    `the topic ${names.topic} has lost events that were published, the last of them at position ${position}: it was deleted, or restored from a backup`,
  );
  if (!reaches(ranges, checkpoint)) throw lost;
  let last = 0;
  for await (const [partition, record] of records(client, names, ends)) {
    const found = positionOf(record, names);
    if (record.offset !== ends[partition])
      throw new TopicMismatchError(
        `the topic ${names.topic} holds position ${found}, and the checkpoint is at ${position}: it was set back, or somebody else publishes`,
      );
    last = Math.max(last, found);
  }
  // Where retention has removed the last event of a partition, it may have been the last of all.
  const removed = ends.some((end, partition) => end >= 0 && ranges[partition]!.low > end);
  if (last !== position && !removed) throw lost;
}

/** Without a checkpoint the topic itself tells where it ends, as all its events up to there came in whole transactions. */
async function adopt(client: KafkaClient, names: Names, ranges: readonly Range[]): Promise<Recovered> {
  const empty = emptyCheckpoint(ranges.length);
  let { position, hash } = empty;
  const ends = [...empty.ends];
  for await (const [partition, record] of records(client, names, ends)) {
    ends[partition] = record.offset;
    const found = positionOf(record, names);
    if (found > position) [position, hash] = [found, record.headers[HASH_HEADER] ?? ''];
  }
  if (position > 0)
    return {
      checkpoint: { position, hash, ends },
      notice: `there was no checkpoint; it went on after position ${position}, the topic's last`,
    };
  if (ranges.some(({ low }) => low > 0))
    throw new TopicMismatchError(
      `the topic ${names.topic} held records that are gone, and there is no checkpoint: where to go on is unknown`,
    );
  return { checkpoint: empty, notice: undefined };
}

/** The committed records from each partition's end on, with their partitions. */
async function* records(
  client: KafkaClient,
  { topic, group }: Names,
  ends: readonly number[],
): AsyncGenerator<[number, TopicRecord]> {
  const from = ends.map((end) => Math.max(end, 0));
  const reader = await TopicReader.open(client, topic, group, from);
  try {
    for (const partition of from.keys()) {
      for (let record = await reader.next(partition); record !== undefined; record = await reader.next(partition))
        yield [partition, record];
    }
  } finally {
    await reader.close();
  }
}

function positionOf({ headers, offset }: TopicRecord, { topic }: Names): number {
  const position = Number(headers[POSITION_HEADER]);
  if (Number.isSafeInteger(position) && position > 0) return position;
  throw new TopicMismatchError(
    `the topic ${topic} holds a record (at offset ${offset}) that is no event of a plant store`,
  );
}
