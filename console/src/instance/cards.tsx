import type { ComponentChildren } from 'preact';
import { counted } from '../numbers.ts';
import { momentOf } from '../times.ts';
import { Fact } from '../ui/fact.tsx';
import { type Report, rateOf } from './report.ts';

/** The state of an instance, part by part. A part that is off has no card. `before`: the report before, for rates. */
export function Cards({ report, before }: { readonly report: Report; readonly before: Report | undefined }) {
  const metric = (name: string): number | undefined => report.metrics[`plantstore_${name}`];
  const shown = (name: string, format = integer): string | undefined => formatted(metric(name), format);
  const since = (name: string, format: (value: number) => string): string | undefined =>
    formatted(rateOf(report, before, name), format);
  const publication = report.dependencies.find(({ name }) => name === 'kafka');
  const lag = metric('publisher_lag_events');
  const cosigned = metric('cosigned_checkpoint_events');
  return (
    <div class="cards">
      <Card title="Needs">
        {report.dependencies.map(({ name, ready, degraded, detail }) => (
          <Fact key={name} name={name}>
            <span class={ready && !degraded ? 'good' : 'bad'}>
              {degraded ? 'degraded' : ready ? 'ready' : 'not ready'}
            </span>
            {detail !== undefined && <span class="none"> {detail}</span>}
          </Fact>
        ))}
      </Card>
      <Card title="Log">
        <Fact name="Writer">{roleOf(metric('writer'), metric('forwarding'))}</Fact>
        <Fact name="Head">{shown('log_head_position')}</Fact>
        <Fact name="Events">{since('plantstore_log_head_position', rate)}</Fact>
        <Fact name="Read model at">
          {shown('read_model_position')}, {shown('projector_lag_events')} behind
        </Fact>
        <Fact name="In memory">
          {counted(metric('tail_events') ?? 0, 'event')}, {shown('tail_bytes', size)}
        </Fact>
        <Fact name="Commands waiting">{shown('commands_pending')}</Fact>
        {metric('cosigned_checkpoint_age_seconds') !== undefined && (
          <Fact name="Cosigned">{cosigned === undefined ? 'nothing yet' : counted(cosigned, 'event')}</Fact>
        )}
        <Fact name="Erasures under way">{metric('erasures_pending') ? shown('erasures_pending') : undefined}</Fact>
      </Card>
      <Card title="Kafka">
        <Fact name="Publication">{publication === undefined ? 'off' : publication.degraded ? 'degraded' : 'on'}</Fact>
        {lag !== undefined && (
          <Fact name="Behind">
            {counted(lag, 'event')}, {shown('publisher_lag_seconds')} s
          </Fact>
        )}
      </Card>
      <Card title="Requests">
        <Fact name="Answered">{since('plantstore_request_duration_seconds_count', rate)}</Fact>
        <Fact name="In flight">{shown('requests_in_flight')}</Fact>
        <Fact name="Waiting">{shown('requests_waiting')}</Fact>
        <Fact name="Held">{shown('requests_held_bytes', size)}</Fact>
        <Fact name="Live streams">{shown('watches')}</Fact>
      </Card>
      <Card title="Process">
        <Fact name="Version">{report.version}</Fact>
        <Fact name="Node.js">{report.node}</Fact>
        <Fact name="Up since">{momentOf(Date.now() - report.time)}</Fact>
        <Fact name="CPU">{since('process_cpu_seconds_total', percent)}</Fact>
        <Fact name="Memory">{formatted(report.metrics.process_resident_memory_bytes, size)}</Fact>
      </Card>
    </div>
  );
}

/** What an instance does for commands. An instance that is alone with its log has neither metric. */
function roleOf(writer: number | undefined, forwarding: number | undefined): string {
  if (writer === undefined) return 'This instance, the only one';
  if (writer === 1) return 'This instance writes';
  return forwarding === 1
    ? 'Another instance writes; this one forwards to it'
    : 'This instance writes by itself: it cannot reach the writer';
}

function Card({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <dl>{children}</dl>
    </section>
  );
}

const formatted = (value: number | undefined, format: (value: number) => string): string | undefined =>
  value === undefined ? undefined : format(value);

const integer = (value: number): string => Math.round(value).toLocaleString('en');

const rate = (value: number): string => `${value < 10 ? Number(value.toFixed(1)) : integer(value)}/s`;
const percent = (value: number): string => `${Math.round(value * 100)} %`;
const KIB = 1024;
const size = (bytes: number): string =>
  bytes < KIB * KIB ? `${integer(bytes / KIB)} KiB` : `${integer(bytes / KIB / KIB)} MiB`;
