import type { ComponentChildren } from 'preact';
import { counted } from '../numbers.ts';
import { Fact } from '../ui/fact.tsx';
import { type Report, rateOf } from './report.ts';

const ROLES = {
  writer: 'This instance writes',
  forwards: 'Another instance writes; this one forwards to it',
  alone: 'This instance writes by itself: it cannot reach the writer',
};

/** The state of an instance, part by part. A part that is off has no card. `before`: the report before, for rates. */
export function Cards({ report, before }: { readonly report: Report; readonly before: Report | undefined }) {
  const { log, listCache, watches, publication, cosigning, requests, process } = report;
  const lists = listCache && listCache.hits + listCache.misses;
  const since = (count: (of: Report) => number, format: (value: number) => string): string | undefined => {
    const value = rateOf(report, before, count);
    return value === undefined ? undefined : format(value);
  };
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
      {log !== undefined && (
        <Card title="Log">
          <Fact name="Writer">{log.role === undefined ? 'This instance, the only one' : ROLES[log.role]}</Fact>
          <Fact name="Head">{integer(log.head)}</Fact>
          <Fact name="Events">{since((of) => of.log?.head ?? 0, rate)}</Fact>
          <Fact name="Read model at">
            {integer(log.checkpoint)}, {integer(log.head - log.checkpoint)} behind
          </Fact>
          <Fact name="In memory">
            {counted(log.tail.events, 'event')}, {size(log.tail.bytes)}
          </Fact>
          <Fact name="Commands waiting">{integer(log.pending)}</Fact>
          {log.erasures.count > 0 && <Fact name="Erasures under way">{integer(log.erasures.count)}</Fact>}
        </Card>
      )}
      <Card title="Kafka">
        {publication === undefined ? (
          <Fact name="Publication">off</Fact>
        ) : (
          <>
            <Fact name="Publication">{publication.state}</Fact>
            {publication.lagEvents !== undefined && (
              <Fact name="Behind">
                {counted(publication.lagEvents, 'event')}, {integer(publication.lagSeconds ?? 0)} s
              </Fact>
            )}
          </>
        )}
        {cosigning !== undefined && (
          <Fact name="Cosigned">{cosigning.size === undefined ? 'nothing yet' : counted(cosigning.size, 'event')}</Fact>
        )}
      </Card>
      <Card title="Requests">
        <Fact name="Answered">{since((of) => of.requests.ended, rate)}</Fact>
        <Fact name="In flight">{integer(requests.inFlight)}</Fact>
        <Fact name="Waiting">{integer(requests.waiting)}</Fact>
        <Fact name="Held">{size(requests.held)}</Fact>
        {watches !== undefined && <Fact name="Live streams">{integer(watches.open)}</Fact>}
      </Card>
      {listCache !== undefined && (
        <Card title="List cache">
          <Fact name="Answered from memory">{lists ? percent(listCache.hits / lists) : 'no list yet'}</Fact>
          <Fact name="Lists held">
            {integer(listCache.entries)}, {size(listCache.bytes)}
          </Fact>
        </Card>
      )}
      <Card title="Process">
        <Fact name="Version">{report.version}</Fact>
        <Fact name="Node.js">{report.node}</Fact>
        <Fact name="Up">{uptime(report.time / 1000)}</Fact>
        <Fact name="CPU">{since((of) => of.process.cpuSeconds, percent)}</Fact>
        <Fact name="Memory">{size(process.memoryBytes)}</Fact>
      </Card>
    </div>
  );
}

function Card({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <dl>{children}</dl>
    </section>
  );
}

/** A whole number. */
const integer = (value: number): string => Math.round(value).toLocaleString('en');

/** A number for each second. */
const rate = (value: number): string => `${value < 10 ? Number(value.toFixed(1)) : integer(value)}/s`;
/** A share of 1. */
const percent = (value: number): string => `${Math.round(value * 100)} %`;
const KIB = 1024;
/** A number of bytes. */
const size = (bytes: number): string =>
  bytes < KIB * KIB ? `${integer(bytes / KIB)} KiB` : `${integer(bytes / KIB / KIB)} MiB`;

/** The time since a start, in seconds. */
function uptime(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes < 1 ? 'less than a minute' : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}
