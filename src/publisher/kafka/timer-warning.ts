/**
 * Hides the warnings that newer versions of Node print because kafkajs sets timers in the past. Other warnings are
 * still printed.
 */
export function hideTimerWarnings(): void {
  for (const print of process.listeners('warning')) {
    process.off('warning', print);
    process.on('warning', (warning) => {
      if (warning.name !== 'TimeoutNegativeWarning') print(warning);
    });
  }
}
