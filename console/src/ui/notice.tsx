import type { ComponentChildren } from 'preact';
import { usable } from '../session.ts';

/** What a pane says until it has something to show: nothing while there is no token to read it with. */
export const loading = (): string => (usable.value === undefined ? '' : 'Loading…');

interface NoticeProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  /** Why there is nothing else to show, if something failed. */
  readonly problem?: string | undefined;
  /** Does again what failed. */
  readonly retry?: () => void;
}

/** Shown where there is nothing else to show, with what to do about it. */
export function Notice({ title, children, problem, retry }: NoticeProps) {
  return (
    <div class={problem === undefined ? 'notice' : 'notice problem'} role={problem === undefined ? undefined : 'alert'}>
      <p class="notice-title">{title}</p>
      {children ?? (problem && <p>{problem}</p>)}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}
