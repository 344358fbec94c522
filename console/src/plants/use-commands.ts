import { useState } from 'preact/hooks';
import { isUnreachable, messageOf } from '../api/trouble.ts';
import { addPlant, type Draft, deletePlant, newKey } from './commands.ts';
import type { Plant } from './plant-list.ts';

/** What became of the last command. */
export interface CommandResult {
  readonly text: string;
  readonly isProblem?: boolean;
  /** The event of the command. */
  readonly position?: string;
  /** The deleted plant, for an undo. */
  readonly deleted?: Plant;
}

/** A plant in a sentence. */
export const nameOf = ({ id, name }: Draft | Plant): string =>
  `${name === '' ? 'a plant without a name' : `“${name}”`} (${String(id).trim()})`;

/** The commands of the pane, and the result of the last one. Without a token that is accepted, it says so instead. */
export function useCommands(isSignedIn: boolean) {
  const [result, setResult] = useState<CommandResult>();
  const refused = (): boolean => {
    if (!isSignedIn) setResult({ text: 'Sign in first: your token is no longer accepted.', isProblem: true });
    return !isSignedIn;
  };
  /** Resolves with whether the plant was added. */
  const add = async (draft: Draft, key: string): Promise<boolean> => {
    if (refused()) return false;
    try {
      const position = await addPlant(draft, key);
      setResult({ text: `Added ${nameOf(draft)}.`, position });
      return true;
    } catch (error) {
      setResult({
        text: isUnreachable(error)
          ? 'The service cannot be reached. The plant may have been added. It is safe to press Add again: it is added once.'
          : messageOf(error),
        isProblem: true,
      });
      return false;
    }
  };
  const remove = async (plant: Plant): Promise<void> => {
    if (refused()) return;
    try {
      const position = await deletePlant(plant.id, newKey());
      setResult({ text: `Deleted ${nameOf(plant)}.`, position, deleted: plant });
    } catch (error) {
      setResult({ text: messageOf(error), isProblem: true });
    }
  };
  return { result, add, remove };
}
