import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { call } from '../api/rest.ts';
import { Chart } from '../instance/chart.tsx';
import { type Report, rates, upTo } from '../instance/report.ts';
import { keepLive, type Liveness } from '../live.ts';
import { usable } from '../session.ts';
import { LiveChip } from '../ui/live-chip.tsx';
import { Notice } from '../ui/notice.tsx';

const EVERY = 2_000;
/** Milliseconds that the charts go back. */
const SPAN = 120_000;

const ROLES = {
  writer: 'This instance writes',
  forwards: 'Another instance writes; this one forwards to it',
  alone: 'This instance writes by itself: it cannot reach the writer',
};

const integer = (value: number): string => Math.round(value).toLocaleString();
const rate = (value: number): string => `${value < 10 ? Number(value.toFixed(1)) : integer(value)}/s`;
const percent = (value: number): string => `${Math.round(value * 100)} %`;
const KIB = 1024;
const size = (bytes: number): string =>
  bytes < KIB * KIB ? `${integer(bytes / KIB)} KiB` : `${integer(bytes / KIB / KIB)} MiB`;

/** The state of the instance that answers. */
export function InstancePane() {
  const { value: current } = usable;
  const liveness = useMemo(() => signal<Liveness>({ state: 'loading' }), []);
  const [reports, setReports] = useState<readonly Report[]>([]);
  useEffect(() => {
    if (current === undefined) return;
    const abort = new AbortController();
    const poll = async (isLive: () => void, signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        if (!document.hidden) {
          const report: Report = await (await call('/console/instance', { signal })).json();
          setReports((before) => upTo(report, before, SPAN));
          isLive();
        }
        await new Promise((resolve) => setTimeout(resolve, EVERY));
      }
    };
    void keepLive(poll, liveness, abort.signal);
    return () => abort.abort();
  }, [current]);

  const report = reports.at(-1);
  if (report === undefined)
    return liveness.value.state === 'failed' ? (
      <Notice title="The instance gives no report." isProblem>
        <p>{liveness.value.message}</p>
      </Notice>
    ) : (
      <p class="loading">Loading…</p>
    );
  const { log, listCache, watches, publication, cosigning, requests, process } = report;
  const lists = listCache && listCache.hits + listCache.misses;
  return (
    <>
      <div class="bar">
        <p class={`verdict ${report.status === 'ready' ? 'good' : 'bad'}`} role="status">
          {report.status === 'ready' ? 'Ready' : report.status === 'draining' ? 'Stopping' : 'Not ready'}
        </p>
        <LiveChip liveness={liveness.value} />
      </div>
      <div class="charts">
        <Chart title="Events" samples={rates(reports, (at) => at.log?.head ?? 0)} span={SPAN} format={rate} />
        <Chart title="Requests" samples={rates(reports, (at) => at.requests.ended)} span={SPAN} format={rate} />
        <Chart
          title="Read model behind"
          samples={reports.map(({ time, log: at }) => ({ time, value: at ? at.head - at.checkpoint : 0 }))}
          span={SPAN}
          format={(value) => `${integer(value)} ${value === 1 ? 'event' : 'events'}`}
        />
        <Chart title="CPU" samples={rates(reports, (at) => at.process.cpuSeconds)} span={SPAN} format={percent} />
      </div>
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
            <Fact name="Read model at">{integer(log.checkpoint)}</Fact>
            <Fact name="In memory">
              {integer(log.tail.events)} events, {size(log.tail.bytes)}
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
                  {integer(publication.lagEvents)} events, {integer(publication.lagSeconds ?? 0)} s
                </Fact>
              )}
            </>
          )}
          {cosigning !== undefined && (
            <Fact name="Cosigned">
              {cosigning.size === undefined ? 'nothing yet' : `${integer(cosigning.size)} events`}
            </Fact>
          )}
        </Card>
        <Card title="Requests">
          <Fact name="In flight">{integer(requests.inFlight)}</Fact>
          <Fact name="Waiting">{integer(requests.waiting)}</Fact>
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
          <Fact name="Memory">{size(process.memoryBytes)}</Fact>
        </Card>
      </div>
    </>
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

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function uptime(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes < 1 ? 'less than a minute' : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}
