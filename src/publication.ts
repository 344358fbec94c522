import type { Config } from './config.ts';
import type { Readiness } from './observe/health.ts';
import type { Logger } from './observe/logger.ts';
import type { TopicQuestion } from './publisher/kafka/topic-check.ts';
import type { PublisherState, PublisherStatus } from './publisher/status.ts';
import { PublisherThread } from './publisher/thread.ts';
import type { PublisherSettings } from './publisher-thread.ts';

const PROGRAM = new URL('./publisher-thread.ts', import.meta.url);

const MEANING: Readonly<Record<PublisherState, string>> = {
  starting: 'starting',
  standby: 'another instance publishes',
  publishing: 'events are published',
  degraded: 'events wait, since they cannot be published',
};

/** Publishes the log that the settings name until it is disposed of. Undefined when they name no Kafka. */
export function startPublication(
  { kafka, mongodbUri, dataDirectory }: Config,
  logger: Logger,
): PublisherThread | undefined {
  if (kafka === undefined) return undefined;
  const settings: PublisherSettings = { mongodbUri, dataDirectory, kafka };
  return new PublisherThread(PROGRAM, settings, (publication) =>
    logger[publication.detail === undefined ? 'info' : 'warn']({ publication }, MEANING[publication.state]),
  );
}

/** Publication never makes the service unready: whatever Kafka does, commands and lists go on. */
export function publicationReadiness({ state, detail, lagEvents, lagSeconds }: PublisherStatus): Readiness {
  const lag = lagEvents ? `${lagEvents} wait, the oldest for ${Math.round(lagSeconds ?? 0)} s` : undefined;
  const details = [MEANING[state], lag, detail].filter((part) => part !== undefined);
  return { ready: true, degraded: state === 'degraded', detail: details.join('; ') };
}

/** What an audit asks about the topic: nothing when the settings name no Kafka, whose client is then not loaded. */
export async function topicChecks({ kafka }: Config): Promise<TopicQuestion[]> {
  if (kafka === undefined) return [];
  const { askTopic } = await import('./publisher/kafka/topic-check.ts');
  return [await askTopic(kafka)];
}
