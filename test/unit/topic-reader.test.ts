import { expect, onTestFinished, test, vi } from 'vitest';
import type { KafkaClient } from '../../src/publisher/kafka/client.ts';
import { TopicReader } from '../../src/publisher/kafka/reader.ts';

type Listener = (event: { payload: { partition: number; lastOffset: string } }) => void;

/** A consumer of a topic of two partitions of which only the second answers, and goes on to get events. */
function halfAway() {
  const listeners = new Map<string, Listener>();
  const consumer = {
    events: { END_BATCH_PROCESS: 'end', CRASH: 'crash' },
    on: (name: string, listener: Listener) => listeners.set(name, listener),
    connect: async () => {},
    subscribe: async () => {},
    run: async () => {},
    seek: () => {},
    disconnect: async () => {},
  };
  const range = { low: 0, stable: 1 };
  const client = { ranges: async () => [range, range], consumer: () => consumer } as unknown as KafkaClient;
  let offset = 0;
  const tell = () => listeners.get('end')!({ payload: { partition: 1, lastOffset: String(offset++) } });
  return { client, tell };
}

test('a read of a partition that is away ends, although others get events all the while', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { client, tell } = halfAway();
  const reader = await TopicReader.open(client, 'topic', 'group', [0, 0]);
  const events = setInterval(tell, 1_000);
  onTestFinished(() => clearInterval(events));
  const outcome = reader.peek(0).catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(await Promise.race([outcome, Promise.resolve('it waits')])).toBe('Kafka did not respond within 30 s');
});
