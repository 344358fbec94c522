import { readFileSync } from 'node:fs';

/** An instruction of a Dockerfile: its name in capitals, and the rest of its line. */
export interface Instruction {
  readonly name: string;
  readonly value: string;
}

/** The instructions of the last stage of a Dockerfile, its lines joined and without comments. */
export function lastStage(path: string): Instruction[] {
  const text = readFileSync(path, 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '');
  const instructions = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name, value] = /^(\S+)\s+(.*)$/.exec(line)!;
      return { name: name!.toUpperCase(), value: value! };
    });
  return instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
}

/** The values of all instructions of a name. */
export const valuesOf = (instructions: readonly Instruction[], name: string): string[] =>
  instructions.filter((instruction) => instruction.name === name).map(({ value }) => value);
