/**
 * kafkajs sets timers to times that have passed, of which newer Nodes warn on stderr, to no use for whoever reads it.
 * All other warnings are printed as ever.
 */
export function hideTimerWarnings(): void {
  for (const print of process.listeners('warning')) {
    process.off('warning', print);
    process.on('warning', (warning) => {
      if (warning.name !== 'TimeoutNegativeWarning') print(warning);
    });
  }
}
