import * as crypto from 'node:crypto';
import { setImmediate as nextTurnOfNode } from 'node:timers/promises';

/** A timer that is set. */
export interface Timer {
  /** The process may end before the timer is due. */
  unref(): Timer;
}

/**
 * What the log and its rooms take from the machine that they run on: its clocks, timers, turns of the event loop and
 * randomness. But for the two stores, they use nothing of that kind but this module, and a test ensures it. So a simulation can be
 * the machine.
 */
export interface Host {
  /** Milliseconds since 1970. The clock may be set, and so jump. */
  wallTime(): number;
  /** Milliseconds since some moment. Never goes back. */
  monotonic(): number;
  /** Milliseconds of CPU that this thread has used, including the kernel. */
  cpuTime(): number;
  setTimer(callback: () => void, milliseconds: number): Timer;
  setRepeating(callback: () => void, milliseconds: number): Timer;
  clearTimer(timer: Timer | undefined): void;
  /** Calls back in the next turn of the event loop. */
  nextTurn(callback: () => void): void;
  /** Resolves in the next turn of the event loop. */
  turn(): Promise<void>;
  /** A number from 0 up to but not including 1. */
  random(): number;
  randomBytes(size: number): Uint8Array;
  randomUUID(): string;
}

/** Random bytes in stock: one call for many costs as much as a call for a few. */
const STOCK = 4_096;
let stock: Buffer = Buffer.alloc(0);

function randomBytesFromStock(size: number): Uint8Array {
  if (stock.length < size) stock = crypto.randomBytes(Math.max(STOCK, size));
  const bytes = new Uint8Array(stock.subarray(0, size));
  stock = stock.subarray(size);
  return bytes;
}

function cpuTimeOfThread(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

const MACHINE: Host = {
  wallTime: () => Date.now(),
  monotonic: () => performance.now(),
  cpuTime: cpuTimeOfThread,
  setTimer: (callback, milliseconds) => setTimeout(callback, milliseconds),
  setRepeating: (callback, milliseconds) => setInterval(callback, milliseconds),
  clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  nextTurn: (callback) => setImmediate(callback),
  turn: () => nextTurnOfNode(),
  random: Math.random,
  randomBytes: randomBytesFromStock,
  randomUUID: () => crypto.randomUUID(),
};

let host = MACHINE;

/** Replaces the machine, for all code of this thread. Only a simulation does so. */
export function runOn(other: Host): void {
  host = other;
}

/** See Host.wallTime. */
export const wallTime = (): number => host.wallTime();
/** See Host.monotonic. */
export const monotonic = (): number => host.monotonic();
/** See Host.cpuTime. */
export const cpuTime = (): number => host.cpuTime();
/** See Host.setTimer. */
export const setTimer = (callback: () => void, milliseconds: number): Timer => host.setTimer(callback, milliseconds);
/** See Host.setRepeating. */
export const setRepeating = (callback: () => void, milliseconds: number): Timer =>
  host.setRepeating(callback, milliseconds);
/** See Host.clearTimer. */
export const clearTimer = (timer: Timer | undefined): void => host.clearTimer(timer);
/** See Host.nextTurn. */
export const nextTurn = (callback: () => void): void => host.nextTurn(callback);
/** See Host.turn. */
export const turn = (): Promise<void> => host.turn();
/** See Host.random. */
export const random = (): number => host.random();
/** See Host.randomBytes. */
export const randomBytes = (size: number): Uint8Array => host.randomBytes(size);
/** See Host.randomUUID. */
export const randomUUID = (): string => host.randomUUID();
