import { signal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import { LONGEST_ANSWER } from '../access.ts';
import { service } from '../api/rest.ts';
import { Cards } from '../instance/cards.tsx';
import type { Report } from '../instance/report.ts';
import { type Liveness, type Stream, useStream } from '../live.ts';
import { LiveChip } from '../ui/live-chip.tsx';
import { loading, Notice } from '../ui/notice.tsx';

const REFRESH_INTERVAL = 2_000;

/** The state of the instance that answers. */
export function InstancePane() {
  /** The last one, and the one before. */
  const [[report, before], setReports] = useState<readonly Report[]>([]);
  const stream = useMemo((): Stream => {
    const run: Stream['run'] = async (isLive, signal) => {
      while (!signal.aborted) {
        if (!document.hidden) {
          const limit = AbortSignal.timeout(LONGEST_ANSWER);
          const next: Report = await service.send(
            { method: 'GET', path: '/console/instance', signal, limit, timeout: LONGEST_ANSWER },
            (answer) => answer.json(),
          );
          setReports(([last]) => (last === undefined ? [next] : [next, last]));
          isLive();
        }
        await new Promise((resolve) => setTimeout(resolve, REFRESH_INTERVAL));
      }
    };
    return { liveness: signal<Liveness>({ state: 'loading' }), run };
  }, []);
  useStream(stream);
  const { value: liveness } = stream.liveness;

  if (report === undefined)
    return liveness.state === 'failed' ? (
      <Notice title="The instance gives no report." problem={liveness.message ?? ''} />
    ) : (
      <p class="loading">{loading()}</p>
    );
  return (
    <>
      <div class="bar">
        <p class={`verdict ${report.status === 'ready' ? 'good' : 'bad'}`} role="status">
          {report.status === 'ready' ? 'Ready' : report.status === 'draining' ? 'Stopping' : 'Not ready'}
        </p>
        <LiveChip liveness={liveness} />
      </div>
      <Cards report={report} before={before} />
    </>
  );
}
