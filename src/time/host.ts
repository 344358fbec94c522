import * as crypto from 'node:crypto';
import { setImmediate as nextTurnOfNode } from 'node:timers/promises';

/** A timer that is set. */
export interface Timer {
  /** The process may end before the timer is due. */
  unref(): Timer;
}

/** Random bytes in stock: one call for many costs as much as a call for a few. */
const STOCK_BYTES = 4_096;
let stock: Buffer = Buffer.alloc(0);

function randomBytesFromStock(size: number): Uint8Array {
  if (stock.length < size) stock = crypto.randomBytes(Math.max(STOCK_BYTES, size));
  const bytes = new Uint8Array(stock.subarray(0, size));
  stock = stock.subarray(size);
  return bytes;
}

function cpuTimeOfThread(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * What the log and its rooms take from the machine that they run on: its clocks, timers, turns of the event loop and
 * randomness. But for the two stores, they use nothing of that kind but this module, and a test ensures it. So a
 * simulation can be the machine.
 */
export type Host = typeof MACHINE;

const MACHINE = {
  wallTime: () => Date.now(),
  monotonic: () => performance.now(),
  cpuTime: cpuTimeOfThread,
  setTimer: (callback: () => void, milliseconds: number): Timer => setTimeout(callback, milliseconds),
  setRepeating: (callback: () => void, milliseconds: number): Timer => setInterval(callback, milliseconds),
  clearTimer: (timer: Timer | undefined) => clearTimeout(timer as NodeJS.Timeout | undefined),
  nextTurn: (callback: () => void): void => void setImmediate(callback),
  yieldTurn: (): Promise<void> => nextTurnOfNode(),
  random: Math.random,
  randomBytes: randomBytesFromStock,
  randomUUID: (): string => crypto.randomUUID(),
};

let host = MACHINE;

/** Replaces the machine, for all code of this thread. Only a simulation does so. */
export function runOn(other: Host): void {
  host = other;
}

/** Milliseconds since 1970. The clock may be set, and so jump. */
export const wallTime = (): number => host.wallTime();
/** Milliseconds since some moment. Never goes back. */
export const monotonic = (): number => host.monotonic();
/** Milliseconds of CPU that this thread has used, including the kernel. */
export const cpuTime = (): number => host.cpuTime();
/** Calls back once, after so many milliseconds. */
export const setTimer = (callback: () => void, milliseconds: number): Timer => host.setTimer(callback, milliseconds);
/** Calls back again and again, each time after so many milliseconds. */
export const setRepeating = (callback: () => void, milliseconds: number): Timer =>
  host.setRepeating(callback, milliseconds);
/** Calls back no more. */
export const clearTimer = (timer: Timer | undefined): void => host.clearTimer(timer);
/** Calls back in the next turn of the event loop. */
export const nextTurn = (callback: () => void): void => host.nextTurn(callback);
/** Resolves in the next turn of the event loop. */
export const yieldTurn = (): Promise<void> => host.yieldTurn();
/** A number from 0 up to but not including 1. */
export const random = (): number => host.random();
/** Random bytes. */
export const randomBytes = (size: number): Uint8Array => host.randomBytes(size);
/** A random UUID (RFC 9562). */
export const randomUUID = (): string => host.randomUUID();
