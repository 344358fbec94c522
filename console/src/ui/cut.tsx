import { TEXTS, type Texts } from '../plants/texts.ts';
import { isolated } from './isolated.ts';

/** Characters that fit in a cell of any table. */
const MAX_LENGTH = 16;

/** A text that its cell may cut: it is shown whole to the pointer, and to who focuses or taps it. */
export function Cut({ text }: { readonly text: string }) {
  const shown = isolated(text);
  if (text.length <= MAX_LENGTH) return <>{shown}</>;
  return (
    // Safari gives buttons no focus by itself.
    <button type="button" class="cut" title={text} onClick={({ currentTarget }) => currentTarget.focus()}>
      {shown}
    </button>
  );
}

/** The cells of the texts of a plant: its name, and a chip for each other text that is set. */
export function PlantCells({ plant }: { readonly plant: Texts }) {
  return (
    <>
      {TEXTS.map(({ name }) => (
        <td key={name} class={name === 'name' ? 'name' : 'tag'}>
          {name === 'name' ? <Name text={plant.name ?? ''} /> : <Chip text={plant[name]} />}
        </td>
      ))}
    </>
  );
}

const Name = ({ text }: { readonly text: string }) =>
  text === '' ? <span class="none">no name</span> : <Cut text={text} />;

const Chip = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : <span class="tag-chip">{text === '' ? '(empty)' : <Cut text={text} />}</span>;
