import { setTimeout as sleep } from 'node:timers/promises';
import { isIntact } from '../../log/event/chain.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { Fault, Store, Unfinished } from '../../log/store.ts';
import { asErased } from '../../log/whole-range.ts';
import { type EventMessage, eventMessage, messageOfErased, POSITION_HEADER } from '../message.ts';
import { MismatchError } from '../topic.ts';
import { KafkaClient, type OffsetRange, partitioner } from './client.ts';
import type { KafkaOptions } from './kafka-topic.ts';
import { TopicReader, type TopicRecord } from './reader.ts';
import { adopt } from './resume.ts';
import { fromCommitted, type Names, namesFor, type PublisherCheckpoint, reaches } from './topics.ts';

/** Most checks for whether the last commit is visible, and milliseconds between them. */
const MAX_CHECKS = 50;
const CHECK_INTERVAL = 100;

/**
 * The audit question about the topic, answered during a pass over the log. Connects. The topic is compared as of now,
 * so read the log after this resolves. If Kafka cannot be read, this question alone has no answer.
 */
export async function askTopic(options: KafkaOptions, store: Pick<Store, 'unfinished'>) {
  const names = namesFor(options.topic);
  const client = new KafkaClient(options);
  try {
    await client.connect();
    for (const topic of [names.topic, names.checkpoint])
      if (!(await client.hasTopic(topic))) throw new MismatchError(`Kafka has no topic ${topic}`);
    const [checkpoint, ranges] = await settled(client, names);
    const start = ranges.map(() => 0);
    const reader = await TopicReader.open(client, names.topic, names.group, start);
    const unfinished = (await store.unfinished()).filter(isIntact);
    return topicCheck(client, reader, checkpoint, ranges, unfinished);
  } catch (error) {
    client.close();
    const failed = async () => {
      if (error instanceof MismatchError) return { message: error.message };
      throw error;
    };
    return { question: 'topic' as const, take: failed, finish: failed };
  }
}

/**
 * Does the topic, read committed, have the log's events up to the checkpoint, each once and in order, and nothing else?
 * Each event of the log must be the next record of its partition. Events after the checkpoint may be present, and
 * records that retention has removed may be missing.
 *
 * A publisher may run meanwhile. Records are read up to the topic's end at the start, and the log, read later, contains
 * every event published by then. So a record that matches no event of the pass is foreign.
 *
 * `unfinished`: erasures as of a moment after that end. A publisher that began during one of them has left out the
 * contents that it erases, although the log may still have them.
 */
function topicCheck(
  client: KafkaClient,
  reader: TopicReader,
  checkpoint: PublisherCheckpoint,
  ranges: readonly OffsetRange[],
  unfinished: readonly Unfinished[],
) {
  const partitionOf = partitioner(checkpoint.ends.length);
  /** Partitions with a matched record. */
  const begun = new Set<number>();
  let reached = 0;

  async function compare(event: LoggedEvent): Promise<Fault | undefined> {
    if (event.type === 'OwnerErased') return compareErasure(event);
    const { position } = event;
    const expected = eventMessage(asErased(event, unfinished));
    if (expected === undefined) return compareErased(event);
    const partition = partitionOf(expected.key);
    const removed = isRemoved(partition);
    const record = await reader.peek(partition);
    if (record === undefined) return removed ? undefined : missing(position, partition);
    if (removed && positionOf(record) > position) return undefined;
    take(partition);
    if (positionOf(record) !== position) {
      const found = `offset ${record.offset} of partition ${partition} should be this event, but is position ${record.headers[POSITION_HEADER]}`;
      return { position, message: found };
    }
    return isSame(record, expected) ? undefined : differs(position, partition, record);
  }

  /** An event that is erased by now, or is being erased: if the topic has it, it was published before. */
  async function compareErased(event: LoggedEvent): Promise<Fault | undefined> {
    for (const partition of ranges.keys()) {
      const record = await takeIfAt(event.position, partition);
      if (record === undefined) continue;
      const isRight = partitionOf(record.key) === partition && isSame(record, messageOfErased(event, record));
      if (!isRight) return differs(event.position, partition, record);
    }
    return undefined;
  }

  /**
   * An OwnerErased event is in every partition, and the same in each. Or it is in none: the erasure was complete before
   * the event was published. One of 1.0.0 may be in one partition.
   */
  async function compareErasure(event: LoggedEvent): Promise<Fault | undefined> {
    const { position } = event;
    const isOfEach = event.event?.type === 'OwnerErased' && event.event.subject !== undefined;
    let expected = eventMessage(event);
    let lacking: number | undefined;
    for (const partition of checkpoint.ends.keys()) {
      const removed = isRemoved(partition);
      const record = await takeIfAt(position, partition);
      if (record === undefined) {
        if (isOfEach && !removed) lacking ??= partition;
        continue;
      }
      expected ??= messageOfErased(event, record);
      if (!isSame(record, expected)) return differs(position, partition, record);
    }
    return expected === undefined || lacking === undefined ? undefined : missing(position, lacking);
  }

  /** Whether retention may have removed the next record of the log from a partition. */
  const isRemoved = (partition: number): boolean => ranges[partition]!.low > 0 && !begun.has(partition);

  function take(partition: number): void {
    reader.take(partition);
    begun.add(partition);
  }

  /** Takes the next record of a partition if it has this position. */
  async function takeIfAt(position: number, partition: number): Promise<TopicRecord | undefined> {
    const record = await reader.peek(partition);
    if (record === undefined || positionOf(record) !== position) return undefined;
    take(partition);
    return record;
  }

  function missing(position: number, partition: number): Fault | undefined {
    const message = `missing in partition ${partition} of the topic, whose checkpoint is at ${checkpoint.position}`;
    return position <= checkpoint.position ? { position, message } : undefined;
  }

  return {
    question: 'topic' as const,

    async take(events: readonly LoggedEvent[]): Promise<Fault | undefined> {
      for (const event of events) {
        const failure = await compare(event);
        if (failure !== undefined) return failure;
        reached = event.position;
      }
      return undefined;
    },

    async finish(): Promise<Fault | undefined> {
      const { position } = checkpoint;
      if (position > reached)
        return { position, message: `the topic reaches position ${position}, but the log ends at ${reached}` };
      for (const partition of ranges.keys()) {
        const record = await reader.peek(partition);
        if (record !== undefined) return foreign(partition, record);
      }
      return undefined;
    },

    async close(): Promise<void> {
      await reader.close();
      client.close();
    },
  };
}

/** The checkpoint, reconstructed if lost, and ranges that reach it: a commit is known before it is visible. */
async function settled(client: KafkaClient, names: Names): Promise<[PublisherCheckpoint, OffsetRange[]]> {
  const committed = await client.committed(names.group, names.checkpoint);
  if (committed === undefined) {
    const ranges = await client.ranges(names.topic);
    return [(await adopt(client, names, ranges)).checkpoint, ranges];
  }
  const checkpoint = fromCommitted(committed);
  for (let looks = 1; ; looks++) {
    const ranges = await client.ranges(names.topic);
    if (reaches(ranges, checkpoint) || looks === MAX_CHECKS) return [checkpoint, ranges];
    await sleep(CHECK_INTERVAL);
  }
}

const positionOf = ({ headers }: TopicRecord): number => Number(headers[POSITION_HEADER]);

const isSame = (record: TopicRecord, expected: EventMessage | undefined): boolean =>
  record.key === expected?.key &&
  record.value === expected.value &&
  Object.entries(expected.headers).every(([name, value]) => record.headers[name] === value);

const differs = (position: number, partition: number, { offset }: TopicRecord): Fault => ({
  position,
  message: `offset ${offset} of partition ${partition} differs from the event in the log`,
});

const foreign = (partition: number, { offset }: TopicRecord): Fault => ({
  message: `offset ${offset} of partition ${partition} of the topic does not match any event of the log`,
});
