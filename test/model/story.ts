/** What happened, line by line, for whoever has to find out why. */
export class Story {
  readonly #lines: string[] = [];

  /** A step that begins. */
  step(what: string): void {
    this.#lines.push(`${this.#lines.length + 1}. ${what}`);
  }

  /** How the step went. */
  outcome(what: string): void {
    this.#lines[this.#lines.length - 1] += `: ${what}`;
  }

  /** How many steps there were. */
  get steps(): number {
    return this.#lines.length;
  }

  toString(): string {
    return this.#lines.join('\n');
  }
}
