import type { ComponentType } from 'preact';
import type { Scope } from './access.ts';

/** A part of the console with an address and an entry in the navigation of its own. */
export interface Pane {
  /** In its address. */
  readonly path: string;
  readonly title: string;
  /** One sentence under the title. */
  readonly purpose: string;
  /** What a token needs to see it; undefined: none is needed. */
  readonly scope?: Scope;
  readonly view: ComponentType;
}
