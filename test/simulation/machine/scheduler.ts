import type { Process } from './process.ts';

/** Something that is to be done at a time. */
export interface Task {
  readonly at: number;
  readonly number: number;
  /** The process that does it. Undefined: something outside all processes, such as the database. */
  readonly process: Process | undefined;
  readonly run: () => void;
  isCancelled: boolean;
}

/** Tasks of one turn of Node's event loop. */
const TURN = 100;

const isBefore = (a: Task, b: Task): boolean => a.at < b.at || (a.at === b.at && a.number < b.number);

/**
 * The time of a simulation, and the one queue of all that happens in it. One task of one process is done at a time, and
 * the next one only when nothing more can happen without the queue. So whatever runs belongs to that process.
 */
export class Scheduler {
  /** Milliseconds since the simulation began. */
  now = 0;
  /** Tasks done so far. */
  done = 0;
  /** The process whose task is being done. */
  current: Process | undefined;
  readonly #heap: Task[] = [];
  #numbers = 0;

  /** Has something done after a number of milliseconds, by a process or outside all. */
  after(milliseconds: number, process: Process | undefined, run: () => void): Task {
    const task = { at: this.now + milliseconds, number: this.#numbers++, process, run, isCancelled: false };
    this.#push(task);
    return task;
  }

  /** Does tasks in order of time until `isOver`, or until there are none. */
  run(isOver: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const next = () => {
      try {
        const task = isOver() ? undefined : this.#next();
        if (task === undefined) return resolve(undefined);
        this.current = task.process;
        task.run();
      } catch (error) {
        return reject(error);
      }
      // Node does every microtask before the next tick, and no code here waits for anything but the queue. Node reports
      // what nobody handles between turns of its event loop, which take as long as a task, so they are rare.
      if (++this.done % TURN === 0) setImmediate(next);
      else queueMicrotask(() => process.nextTick(next));
    };
    setImmediate(next);
    return promise.finally(() => {
      this.current = undefined;
    });
  }

  /** The next task that is to be done now. */
  #next(): Task | undefined {
    for (;;) {
      const task = this.#pop();
      if (task === undefined) return undefined;
      if (task.isCancelled) continue;
      this.now = Math.max(this.now, task.at);
      if (task.process === undefined || task.process.mayRun(task)) return task;
    }
  }

  #push(task: Task): void {
    const heap = this.#heap;
    let at = heap.push(task) - 1;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!isBefore(task, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = task;
  }

  #pop(): Task | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last!;
    return first;
  }
}
