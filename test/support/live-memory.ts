// Loaded into a service before its own code (NODE_OPTIONS=--expose-gc --import), and into its threads. On each
// SIGWINCH, every thread collects garbage and reports the remaining bytes, on and off the heap. The resident set size
// is less useful: it grows until the heap has once been full.
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
