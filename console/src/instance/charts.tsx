import { Chart } from './chart.tsx';
import { integer, percent, rate } from './figures.ts';
import { type Report, rates } from './report.ts';

/** What has changed over the last reports. */
export function Charts({ reports, span }: { readonly reports: readonly Report[]; readonly span: number }) {
  return (
    <div class="charts">
      <Chart title="Events" samples={rates(reports, (at) => at.log?.head ?? 0)} span={span} format={rate} />
      <Chart title="Requests" samples={rates(reports, (at) => at.requests.ended)} span={span} format={rate} />
      <Chart
        title="Read model behind"
        samples={reports.map(({ time, log: at }) => ({ time, value: at ? at.head - at.checkpoint : 0 }))}
        span={span}
        format={(value) => `${integer(value)} ${value === 1 ? 'event' : 'events'}`}
      />
      <Chart title="CPU" samples={rates(reports, (at) => at.process.cpuSeconds)} span={span} format={percent} />
    </div>
  );
}
