import { linkTo } from '../router.ts';
import { draftTexts } from './texts.ts';
import type { CommandResult, Draft } from './use-commands.ts';

/** The result of the last command, with its event, and the undo of a deletion. */
export function ResultLine({
  result,
  addAgain,
}: {
  readonly result: CommandResult | undefined;
  readonly addAgain: (draft: Draft) => void;
}) {
  return (
    <p class={`outcome${result?.isProblem ? ' problem' : ''}`} role="status">
      {result?.text}{' '}
      {result?.position !== undefined && (
        <a href={linkTo('proof', { position: String(result.position) })}>Event {String(result.position)}</a>
      )}{' '}
      {result?.deleted !== undefined && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            const deleted = result.deleted!;
            addAgain({ id: String(deleted.id), ...draftTexts(deleted) });
          }}
        >
          Add again
        </button>
      )}
    </p>
  );
}
