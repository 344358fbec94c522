import { HASH_HEADER, POSITION_HEADER } from '../message.ts';
import { TopicMismatchError } from '../topic.ts';
import { type Checkpoint, emptyCheckpoint, fromCommitted, reaches } from './checkpoint.ts';
import type { KafkaClient } from './client.ts';
import type { Range, TopicRecord } from './client-types.ts';
import { within } from './deadline.ts';
import type { Names } from './names.ts';
import { TopicReader } from './reader.ts';
import { Spread } from './spread.ts';

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
  return { checkpoint, notice: ranges.length === ends.length ? undefined : grown(ranges.length, ends.length) };
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

/**
 * The checkpoint of a topic whose own is forgotten: its records tell where it ends, as all its events up to there came in whole
 * transactions, and over how many partitions its keys are spread. Rejects with TopicMismatchError where they do not tell.
 */
export async function adopt(client: KafkaClient, names: Names, ranges: readonly Range[]): Promise<Recovered> {
  const empty = emptyCheckpoint(ranges.length);
  const spread = new Spread(ranges.length);
  let { position, hash } = empty;
  const ends = [...empty.ends];
  for await (const [partition, record] of records(client, names, ends)) {
    ends[partition] = record.offset;
    spread.take(partition, record.key);
    const found = positionOf(record, names);
    if (found > position) [position, hash] = [found, record.headers[HASH_HEADER] ?? ''];
  }
  // The last event of all may have been in one of these.
  const emptied = [...ends.keys()].filter((partition) => ranges[partition]!.low > 0 && ends[partition] === -1);
  if (emptied.length > 0)
    throw new TopicMismatchError(
      `the topic ${names.topic} held records that are gone, all those of partition ${emptied.join(', ')}, and there is no checkpoint: where to go on is unknown`,
    );
  if (position === 0) return { checkpoint: empty, notice: undefined };
  const { partitions } = spread;
  if (partitions === undefined)
    throw new TopicMismatchError(
      `the topic ${names.topic} holds events in partitions where their keys do not belong, and there is no checkpoint: where to go on is unknown`,
    );
  const adopted = `there was no checkpoint; it went on after position ${position}, the topic's last`;
  return {
    checkpoint: { position, hash, ends: ends.slice(0, partitions) },
    notice: partitions === ranges.length ? adopted : `${adopted}; ${grown(ranges.length, partitions)}`,
  };
}

const grown = (has: number, used: number): string =>
  `the topic has ${has} partitions, and events go on to its first ${used}, so that a plant's events stay in one`;

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
