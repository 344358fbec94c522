import { JobProcess } from './job-process.ts';
import type { OpenStreams, Probe, Probed, Received, WatchersJob } from './watching.ts';

/** Many who watch, in a process of their own, which does as little as can be done with what comes. */
export class Watchers extends JobProcess<WatchersJob> {
  constructor() {
    super('watchers-process.ts');
  }

  /** Resolves when each of the streams has said that its state is whole. */
  open(job: Omit<OpenStreams, 'type'>): Promise<void> {
    return this.ask({ type: 'open', ...job });
  }

  /** Rejects when a probe did not come to a stream that looks for it. */
  probe(job: Omit<Probe, 'type'>): Promise<Probed> {
    return this.ask({ type: 'probe', ...job });
  }

  /** What has come, once nothing more comes. */
  received(): Promise<Received> {
    return this.ask({ type: 'received' });
  }

  /** Leaves. */
  close(): Promise<void> {
    return this.ask({ type: 'close' });
  }
}
