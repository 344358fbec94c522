import type { ComponentChildren } from 'preact';

/** Shown where there is nothing else to show, with what to do about it. */
export function Notice({
  title,
  children,
  isProblem,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly isProblem?: boolean;
}) {
  return (
    <div class={`notice${isProblem ? ' problem' : ''}`} role={isProblem ? 'alert' : undefined}>
      <p class="notice-title">{title}</p>
      {children}
    </div>
  );
}
