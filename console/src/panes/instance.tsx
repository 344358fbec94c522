import { signal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { service } from '../api/rest.ts';
import { Cards } from '../instance/cards.tsx';
import type { Report } from '../instance/report.ts';
import { keepLive, type Liveness } from '../live.ts';
import { usable } from '../session.ts';
import { LiveChip } from '../ui/live-chip.tsx';
import { loading } from '../ui/loading.ts';
import { Notice } from '../ui/notice.tsx';

const EVERY = 2_000;
/** Milliseconds that an answer may take. */
const LONGEST_ANSWER = 8_000;

/** The state of the instance that answers. */
export function InstancePane() {
  const { value: current } = usable;
  const liveness = useMemo(() => signal<Liveness>({ state: 'loading' }), []);
  /** The last one, and the one before. */
  const [[report, before], setReports] = useState<readonly Report[]>([]);
  useEffect(() => {
    if (current === undefined) return;
    const abort = new AbortController();
    const poll = async (isLive: () => void, signal: AbortSignal): Promise<void> => {
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
        await new Promise((resolve) => setTimeout(resolve, EVERY));
      }
    };
    void keepLive(poll, liveness, abort.signal);
    return () => abort.abort();
  }, [current]);

  if (report === undefined)
    return liveness.value.state === 'failed' ? (
      <Notice title="The instance gives no report." problem={liveness.value.message ?? ''} />
    ) : (
      <p class="loading">{loading()}</p>
    );
  return (
    <>
      <div class="bar">
        <p class={`verdict ${report.status === 'ready' ? 'good' : 'bad'}`} role="status">
          {report.status === 'ready' ? 'Ready' : report.status === 'draining' ? 'Stopping' : 'Not ready'}
        </p>
        <LiveChip liveness={liveness.value} />
      </div>
      <Cards report={report} before={before} />
    </>
  );
}
