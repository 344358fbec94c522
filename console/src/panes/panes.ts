import type { ComponentType } from 'preact';
import type { Scope } from '../access.ts';
import { HistoryPane } from './history.tsx';
import { InstancePane } from './instance.tsx';
import { LogPane } from './log.tsx';
import { PlantsPane } from './plants.tsx';
import { ProofPane } from './proof.tsx';
import { TimePane } from './time.tsx';

/** A part of the console with an address and an entry in the navigation of its own. */
export interface Pane {
  readonly title: string;
  /** One sentence under the title. */
  readonly purpose: string;
  /** What a token needs to see it; undefined: none is needed. */
  readonly scope?: Scope;
  readonly view: ComponentType;
}

/** All panes, in the order of the navigation. The first is the default. */
export const PANES: readonly [Pane, ...Pane[]] = [
  {
    title: 'Plants',
    purpose: 'Your plants, as they are now.',
    scope: 'plants:read',
    view: PlantsPane,
  },
  {
    title: 'Log',
    purpose: 'Every event of every owner, newest first.',
    scope: 'plants:audit',
    view: LogPane,
  },
  {
    title: 'History',
    purpose: 'Everything that happened to one plant.',
    scope: 'plants:audit',
    view: HistoryPane,
  },
  {
    title: 'Time',
    purpose: 'The plants as they were, and what changed between two moments.',
    scope: 'plants:audit',
    view: TimePane,
  },
  {
    title: 'Proof',
    purpose: 'Checked in this browser, not by the service.',
    view: ProofPane,
  },
  {
    title: 'Instance',
    purpose: 'The state of the instance that answers.',
    scope: 'plants:audit',
    view: InstancePane,
  },
];

/** The path of the pane with a title, in addresses. */
export const pathOf = (title: string): string => title.toLowerCase();
