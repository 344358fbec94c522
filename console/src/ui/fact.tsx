import type { ComponentChildren } from 'preact';

interface FactProps {
  readonly name: string;
  readonly children?: ComponentChildren;
  /** The value, if it is figures. */
  readonly code?: string | undefined;
}

/** A name and its value, in a `dl`. Nothing, if there is no value. */
export function Fact({ name, children, code }: FactProps) {
  if (children === undefined && code === undefined) return null;
  return (
    <div>
      <dt>{name}</dt>
      {code === undefined ? <dd>{children}</dd> : <dd class="code">{code}</dd>}
    </div>
  );
}
