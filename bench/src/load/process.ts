import { runArrivals } from './arrivals.ts';
import { runGrpc } from './grpc.ts';
import { runHttp } from './http.ts';
import type { ArrivalsJob, Job } from './job.ts';

/** The process that makes the load: runs the jobs that its parent sends, one at a time. */
process.on('message', async (job: Job | ArrivalsJob) => {
  try {
    process.send!({ done: await run(job) });
  } catch (error) {
    process.send!({ error: (error as Error).message });
  }
});
process.on('disconnect', () => process.exit(0));

function run(job: Job | ArrivalsJob): Promise<object> {
  switch (job.protocol) {
    case 'http':
      return runHttp(job);
    case 'grpc':
      return runGrpc(job);
    case 'arrivals':
      return runArrivals(job);
  }
}
