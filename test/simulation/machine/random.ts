/** Numbers that follow from a seed (sfc32, of PractRand). Each purpose has a source of its own: see `of`. */
export class Random {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string) {
    this.#seed = seed;
    [this.#a, this.#b, this.#c] = [hash(seed, 1), hash(seed, 2), hash(seed, 3)];
    for (let round = 0; round < 12; round++) this.uint32();
  }

  /** A source for one purpose. What is drawn elsewhere does not change what it gives. */
  of(purpose: string): Random {
    return new Random(`${this.#seed}/${purpose}`);
  }

  /** From 0 up to but not including 2^32. */
  uint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** From 0 up to but not including 1. */
  fraction(): number {
    return this.uint32() / 2 ** 32;
  }

  /** Whether something of this probability happens. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** From `low` up to but not including `high`. */
  between(low: number, high: number): number {
    return low + this.fraction() * (high - low);
  }

  /** A whole number from `low` up to `high`. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  /** One of several. */
  one<T>(of: readonly T[]): T {
    return of[this.whole(0, of.length - 1)]!;
  }

  /** Between two positive numbers, as likely near one order of magnitude as near another. */
  scaled(low: number, high: number): number {
    return low * (high / low) ** this.fraction();
  }
}

/** FNV-1a, with a mixing step at the end. */
function hash(text: string, round: number): number {
  let value = (0x811c9dc5 ^ Math.imul(round, 0x9e3779b1)) >>> 0;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0;
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b) >>> 0;
  return (value ^ (value >>> 13)) >>> 0;
}
