// Loaded into a service before its own code (NODE_OPTIONS=--expose-gc --import), and into its threads: on each SIGWINCH every one of
// them collects garbage and says how many bytes are left, on the heap and beside it. What the process has of the system's memory
// tells less: it grows until the heap was once full.
import { isMainThread } from 'node:worker_threads';

const CHANNEL = new BroadcastChannel('live memory');
CHANNEL.unref();

function tell(): void {
  globalThis.gc!();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`live memory of the ${isMainThread ? 'main' : 'other'} thread: ${heapUsed + external}\n`);
}

if (isMainThread)
  process.on('SIGWINCH', () => {
    tell();
    CHANNEL.postMessage(undefined);
  });
else CHANNEL.onmessage = tell;
