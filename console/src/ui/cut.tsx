/** Characters that fit in a cell of any table. */
const SHORT = 16;

/** A text that its cell may cut: it is shown whole to the pointer, and to who focuses or taps it. */
export function Cut({ text }: { readonly text: string }) {
  if (text.length <= SHORT) return <>{text}</>;
  return (
    // Safari gives buttons no focus by itself.
    <button type="button" class="cut" title={text} onClick={({ currentTarget }) => currentTarget.focus()}>
      {text}
    </button>
  );
}

/** The cells of the name and the tag of a plant. */
export function PlantCells({ name, tag }: { readonly name: string; readonly tag?: string | undefined }) {
  return (
    <>
      <td class="name">{name === '' ? <span class="none">no name</span> : <Cut text={name} />}</td>
      <td class="tag">
        {tag !== undefined && <span class="tag-chip">{tag === '' ? '(empty)' : <Cut text={tag} />}</span>}
      </td>
    </>
  );
}
