import type { ComponentChildren } from 'preact';

/** What stands where there is nothing to show, and what to do about it. */
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
