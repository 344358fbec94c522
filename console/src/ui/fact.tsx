import type { ComponentChildren } from 'preact';

/** A name and its value, in a `dl`. Nothing, if there is no value. */
export function Fact({
  name,
  children,
  isCode,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
  readonly isCode?: boolean;
}) {
  if (children === undefined) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd class={isCode ? 'code' : undefined}>{children}</dd>
    </div>
  );
}
