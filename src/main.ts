import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import closeWithGrace from 'close-with-grace';
import { type Config, misspeltSettings } from './config.ts';
import type { EventLog } from './log/log.ts';
import { Health, STARTING } from './observe/health.ts';
import { LogOutput, openStdout, readableLine } from './observe/log-output.ts';
import { createLogger } from './observe/logger.ts';
import { aboutDataDirectory, withOtherPorts } from './start/start-error.ts';
import { start } from './start.ts';

/**
 * Most milliseconds that shutdown may take after the grace: DRAIN_LIMIT (transport/listeners.ts), and the commands
 * that the log has taken.
 */
const STOP_LIMIT = 25_000;

/**
 * Starts the service, which runs until SIGTERM, SIGINT, SIGHUP, SIGQUIT or SIGUSR2. On that signal it turns unready,
 * hands writing to another instance, serves for the grace, stops accepting requests, completes those in flight, closes
 * the store and exits with 0. A second signal ends it at once. An uncaught error is logged and ends it with 1, without
 * the grace.
 *
 * Rejects when it cannot start, after closing everything it had opened.
 */
export async function serve(config: Config): Promise<void> {
  // After many lists, V8 would take what adds make for long-lived: they then cost 1.6 times the CPU (decisions/0014).
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Programs read the lines of production, and of every pipe.
  const isForPeople = process.stdout.isTTY && config.issuer === undefined;
  const output = new LogOutput(openStdout(), isForPeople ? readableLine : undefined);
  const logger = createLogger(config.logLevel, output);
  output.onGap = (dropped) =>
    logger.error({ dropped }, 'log lines were dropped here, because stdout was not read in time');
  process.once('exit', () => output.flushSync());
  for (const line of misspeltSettings()) logger.warn(line);
  let log: EventLog | undefined;
  const starting = () => STARTING;
  const health = new Health({
    ...{ store: starting, issuer: starting, rest: starting },
    ...(config.kafka && { kafka: starting }),
  });
  // Closed in reverse order: the listeners first, then the store, the probes and traces last.
  const opened = new AsyncDisposableStack();
  const stop = () => opened.disposeAsync();
  const drainGrace = config.drainGrace * 1_000;
  const grace = closeWithGrace({ delay: STOP_LIMIT + drainGrace, logger }, async ({ signal, err }) => {
    if (err) logger.fatal({ err }, 'uncaught error');
    else logger.info({ signal }, 'stopping');
    health.draining = true;
    void log?.handOn();
    if (!err && log !== undefined) await sleep(drainGrace);
    await stop();
    logger.info('stopped');
  });
  try {
    log = await start(config, logger, output, health, opened);
  } catch (error) {
    // A signal during the start has already closed what the rest of the start needs.
    if (health.draining) return;
    grace.uninstall();
    await stop();
    throw aboutDataDirectory(await withOtherPorts(error as Error, config), config.dataDirectory);
  }
}
