import type { ComponentChildren } from 'preact';

/** Shown where there is nothing else to show, with what to do about it. */
export function Notice({
  title,
  children,
  isProblem,
  retry,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly isProblem?: boolean;
  /** Does again what failed. */
  readonly retry?: () => void;
}) {
  return (
    <div class={`notice${isProblem ? ' problem' : ''}`} role={isProblem ? 'alert' : undefined}>
      <p class="notice-title">{title}</p>
      {children}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}
