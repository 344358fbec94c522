import type { Model, Operation } from './linearizability.ts';

/** A command or a list of one owner. */
export type PlantInput =
  | { readonly do: 'add'; readonly id: number; readonly name: string }
  | { readonly do: 'delete'; readonly id: number }
  | { readonly do: 'list' };

/** Whether a command was accepted, or the names of a list in ascending order of id. */
export type PlantOutput = boolean | readonly string[];

/** An operation on the plants of one owner. */
export type PlantOperation = Operation<PlantInput, PlantOutput>;

/** The sequential model of one owner's plants. A state is the JSON of [id, name] pairs in ascending order of id. */
export const plantsModel: Model<PlantInput, PlantOutput> = {
  initial: '[]',
  step(state, input, output) {
    const plants = JSON.parse(state) as [number, string][];
    if (input.do === 'list') {
      const same = output === undefined || JSON.stringify(plants.map(([, name]) => name)) === JSON.stringify(output);
      return same ? state : undefined;
    }
    const at = plants.findIndex(([id]) => id === input.id);
    const accepted = input.do === 'add' ? at === -1 : at !== -1;
    if (output !== undefined && output !== accepted) return undefined;
    if (!accepted) return state;
    if (input.do === 'add') plants.push([input.id, input.name]);
    else plants.splice(at, 1);
    return JSON.stringify(plants.sort(([a], [b]) => a - b));
  },
};
