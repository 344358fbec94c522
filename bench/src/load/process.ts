import { runGrpc } from './grpc.ts';
import { runHttp } from './http.ts';
import type { Job } from './job.ts';

/** The process that makes the load: runs the jobs that its parent sends, one at a time. */
process.on('message', async (job: Job) => {
  try {
    process.send!({ done: await (job.protocol === 'http' ? runHttp(job) : runGrpc(job)) });
  } catch (error) {
    process.send!({ error: (error as Error).message });
  }
});
process.on('disconnect', () => process.exit(0));
