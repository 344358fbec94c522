import { extname } from 'node:path';
import type { Check } from '../audit/checks/check.ts';
import type { Config } from '../config.ts';
import { counted } from '../domain/counted.ts';
import type { Store } from '../log/store.ts';
import type { Readiness } from '../observe/health.ts';
import type { Logger } from '../observe/logger.ts';
import type { PublisherState, PublisherStatus } from '../publisher/status.ts';
import { PublisherThread } from '../publisher/thread.ts';
import type { PublisherSettings } from './publisher-thread.ts';

const PROGRAM = new URL(`./publisher-thread${extname(import.meta.url)}`, import.meta.url);

const MEANING: Readonly<Record<PublisherState, string>> = {
  starting: 'starting',
  standby: 'another instance publishes',
  publishing: 'events are published',
  degraded: 'events cannot be published',
};

/** Of an instance that started while Kafka was away, and knows only of the events since. */
const LAG_UNKNOWN = 'how many wait is unknown until Kafka answers, which has the last published position';
const LAG_UNKNOWN_BEFORE = 'how many from before is unknown until Kafka answers';

/** Starts publishing the log that the settings name, until disposed of. Undefined when the settings name no Kafka. */
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

/** Publication as a dependency that is always ready: commands and lists work without Kafka. */
export function publicationReadiness(status: PublisherStatus): Readiness {
  const { state, detail } = status;
  const details = [MEANING[state], lagOf(status), detail].filter((part) => part !== undefined);
  return { ready: true, degraded: state === 'degraded', detail: details.join('; ') };
}

function lagOf({ state, published, lagEvents, lagSeconds }: PublisherStatus): string | undefined {
  const wait = lagEvents
    ? `not published yet: ${counted(lagEvents, 'event')}, the oldest for ${Math.round(lagSeconds ?? 0)} s`
    : undefined;
  if (state !== 'degraded' || published !== undefined) return wait;
  return wait === undefined ? LAG_UNKNOWN : `since this instance took over, ${wait}; ${LAG_UNKNOWN_BEFORE}`;
}

/** The checks of the topic for an audit. Empty when the settings name no Kafka; Kafka's client is then not loaded. */
export async function topicChecks({ kafka }: Config, store: Store): Promise<Check[]> {
  if (kafka === undefined) return [];
  const { askTopic } = await import('../publisher/kafka/topic-check.ts');
  return [await askTopic(kafka, store)];
}
