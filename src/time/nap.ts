import { clearTimer, setTimer } from './host.ts';
/**
 * A pause of one sleeper that others can end. To wake it costs nothing while it is awake: an AbortController would make
 * an error with a stack trace each time.
 */
export class Nap {
  #end: (() => void) | undefined;

  /** Resolves after the given milliseconds with false, or with true when it was woken. */
  take(milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const over = (woken: boolean) => {
        clearTimer(timer);
        this.#end = undefined;
        resolve(woken);
      };
      const timer = setTimer(() => over(false), milliseconds);
      this.#end = () => over(true);
    });
  }

  /** Ends the pause, if there is one. */
  wake(): void {
    this.#end?.();
  }
}
