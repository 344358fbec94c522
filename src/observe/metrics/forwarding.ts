import type { ForwardObserver, LogStatus } from '../../log/observer.ts';
import type { Metrics } from './metrics.ts';

/** Adds the metrics of commands between instances, and returns their observer. Each scrape calls `status`. */
export function forwardMetrics(metrics: Metrics, status: () => LogStatus | undefined): ForwardObserver {
  const forwarded = metrics.counter({
    name: 'plantstore_commands_forwarded_total',
    help: 'Commands that this instance forwarded to the writer, by outcome: applied, refused, returned (and sent again) or lost (and resolved here).',
    labelNames: ['outcome'],
  });
  for (const outcome of ['applied', 'refused', 'returned', 'lost']) forwarded.inc({ outcome }, 0);
  const taken = metrics.counter({
    name: 'plantstore_commands_taken_total',
    help: 'Commands that this instance, as the writer, received from other instances.',
  });
  const duration = metrics.histogram({
    name: 'plantstore_forward_duration_seconds',
    help: 'Time of a forwarded command, from its submission to the response of the writer.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const role = (name: string, help: string, wanted: LogStatus['role']) =>
    metrics.gauge(name, help, () => {
      const now = status()?.role;
      return now && Number(now === wanted);
    });
  role('plantstore_writer', 'Whether this instance holds the writer lease: 1 or 0.', 'writer');
  role('plantstore_forwarding', 'Whether this instance is connected to the writer: 1 or 0.', 'forwards');
  return {
    forwarded(outcome, milliseconds) {
      forwarded.inc({ outcome });
      if (outcome === 'applied' || outcome === 'refused') duration.observe(milliseconds / 1000);
    },
    taken: (commands) => taken.inc(commands),
  };
}
