// Loaded into a service before its own code (NODE_OPTIONS=--expose-gc --import): on each SIGWINCH it collects garbage and writes
// the bytes of what is left, on the heap and beside it, to stderr. What the process has of the system's memory tells less: it grows
// until the heap was once full.

process.on('SIGWINCH', () => {
  globalThis.gc!();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`live memory: ${heapUsed + external}\n`);
});
