import { useRef, useState } from 'preact/hooks';
import { OutcomeUnknownError, type Plant } from '../../../client/index.ts';
import { openPlantStore } from '../api/rest.ts';
import { messageOf } from '../api/trouble.ts';
import { AN_ID, idOf } from '../numbers.ts';
import { isolated } from '../ui/isolated.ts';
import { type draftTexts, textsIn } from './texts.ts';

const plants = openPlantStore();

/** The fields of the form for a new plant. */
export interface Draft extends ReturnType<typeof draftTexts> {
  readonly id: string;
}

/** What became of the last command. */
export interface CommandResult {
  readonly text: string;
  readonly isProblem?: boolean;
  /** The event of the command. */
  readonly position?: bigint;
  /** The deleted plant, for an undo. */
  readonly deleted?: Plant;
}

/** A plant in a sentence. */
export const nameOf = ({ id, name }: Plant): string =>
  `${name === '' ? 'a plant without a name' : `“${isolated(name)}”`} (${id})`;

/** The commands of the pane, and the result of the last one. */
export function useCommands() {
  const [result, setResult] = useState<CommandResult>();
  /** The key of a draft that may have been added: the same draft is added once. */
  const unknown = useRef<{ readonly draft: string; readonly idempotencyKey: string } | undefined>(undefined);
  /** Resolves with whether the plant was added. If it was not, the plant that this would undo the deletion of stays. */
  const add = async (draft: Draft, deleted?: Plant): Promise<boolean> => {
    const id = idOf(draft.id);
    const same = JSON.stringify(draft);
    try {
      if (draft.id.trim() === '') throw new RangeError('id is missing');
      if (id === undefined) throw new RangeError(`id must be ${AN_ID}`);
      const again = unknown.current?.draft === same ? unknown.current.idempotencyKey : undefined;
      const { name, ...texts } = textsIn(draft);
      const plant = { id, name, ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')) };
      const { position } = await plants.add(plant, { idempotencyKey: again });
      setResult({ text: `Added ${nameOf(plant)}.`, position });
      return true;
    } catch (error) {
      const isUnknown = error instanceof OutcomeUnknownError;
      if (isUnknown) unknown.current = { draft: same, idempotencyKey: error.idempotencyKey };
      const then = ' The plant may have been added. It is safe to press Add again: it is added once.';
      const text = isUnknown ? messageOf(error.cause) + then : messageOf(error);
      setResult({ text, isProblem: true, ...(deleted && { deleted }) });
      return false;
    }
  };
  const remove = async (plant: Plant): Promise<void> => {
    try {
      const { position } = await plants.delete(plant.id);
      setResult({ text: `Deleted ${nameOf(plant)}.`, position, deleted: plant });
    } catch (error) {
      setResult({ text: messageOf(error), isProblem: true });
    }
  };
  return { result, add, remove };
}
