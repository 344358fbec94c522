import { expect, test } from 'vitest';
import { Collector, caller, traceparent } from '../../support/collector.ts';
import type { KafkaBench } from '../../support/kafka-bench.ts';
import { positionsOf, readTopic } from '../../support/kafka-records.ts';
import { PROTOCOLS } from '../../support/protocols.ts';
import { dataDirectory } from '../../support/publication.ts';
import { plantstore } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { eventually, upTo } from './series.ts';

const INTERNAL = 1;

/** What a caller puts into `tracestate`, which no event is to hold. */
const STATE = 'text-of-the-caller';

/** Adds a plant, or deletes it, over each protocol in turn, each time in a trace of its own, whose caller is returned. */
async function callInTraces(service: Service, flags: string, act: 'create' | 'delete') {
  const authorization = `Bearer ${await service.token('alice')}`;
  const callers = PROTOCOLS.map(caller);
  for (const [index, { client }] of PROTOCOLS.entries()) {
    const plants = client(service, authorization, {
      traceparent: traceparent(callers[index]!, flags),
      tracestate: `vendor=${STATE}`,
    });
    await (act === 'create' ? plants.create(BigInt(index), 'Fern') : plants.delete(BigInt(index)));
  }
  return callers;
}

/** From the caller to whoever consumes the events. */
export function traces(bench: KafkaBench): void {
  const { kafka } = bench;

  test('goes on in the headers of its event, whoever publishes it; what nobody traces has none', async () => {
    using directory = dataDirectory();
    await using collector = await Collector.start();
    const environment = { DATA_DIR: directory.path };
    const traced = await startService({ ...environment, ...collector.environment });
    const callers = await callInTraces(traced, '01', 'create');
    await callInTraces(traced, '00', 'delete');
    const spans = await Promise.all(callers.map(({ traceId }) => collector.trace(traceId, 2)));
    expect(await traced.stop()).toBe(0);
    // What others may continue: the span of the command.
    const expected = spans.map((trace) => traceparent(trace.find(({ kind }) => kind === INTERNAL)!));
    expect(expected.map((context) => context.slice(3, 35))).toEqual(callers.map(({ traceId }) => traceId));

    const { topic } = bench.newTopic();
    const publication = {
      ...environment,
      KAFKA_BROKERS: kafka.brokers.join(),
      KAFKA_TOPIC: topic,
      KAFKA_PARTITIONS: '1',
    };
    await using untraced = await startService(publication);
    await callInTraces(untraced, '01', 'create');
    const count = 3 * PROTOCOLS.length;
    await eventually(
      () => readTopic(kafka, topic),
      (records) => records?.length === count,
    );
    const records = await readTopic(kafka, topic);
    expect(positionsOf(records)).toEqual(upTo(count));
    const contexts = [...expected, ...Array.from({ length: count - expected.length }, () => undefined)];
    expect(records.map(({ headers }) => headers.traceparent)).toEqual(contexts);
    expect(records.map(({ headers }) => headers.ce_traceparent)).toEqual(contexts);

    const { stdout } = await plantstore(['audit', 'export'], environment);
    expect(stdout).not.toContain(STATE);
    const exported = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(exported.map((event) => event.traceparent)).toEqual(contexts);
    expect(await plantstore(['audit', 'verify'], publication)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^chain +yes$[\s\S]*^topic +yes$/m),
    });
  });
}
