import { readFileSync } from 'node:fs';

// Loaded into a service before its own code (NODE_OPTIONS=--import). On each SIGWINCH the wall clock jumps by the
// milliseconds in the file CLOCK_FILE, as when an operator or NTP sets it. Timers and performance.now() are unaffected,
// as in reality.

const Original = Date;
let offset = 0;

class JumpingDate extends Original {
  constructor(...args: unknown[]) {
    super(...((args.length === 0 ? [JumpingDate.now()] : args) as [number]));
  }

  static override now(): number {
    return Original.now() + offset;
  }
}

globalThis.Date = JumpingDate as DateConstructor;

process.on('SIGWINCH', () => {
  offset += Number(readFileSync(process.env.CLOCK_FILE!, 'utf8'));
  process.stderr.write(`clock jumped: ${offset}\n`);
});
