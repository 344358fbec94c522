import { JobProcess } from './job-process.ts';

/** Opens connections for no good. */
export interface FloodJob {
  readonly type: 'begin';
  /** Port of this machine. */
  readonly port: number;
  /** What each connection sends once it is open, and no more. */
  readonly bytes: Uint8Array;
  /** Most connections that are open at once. The oldest makes room for a new one. */
  readonly most: number;
  /** Connections a second until it has tried that many, and then. */
  readonly rise: number;
  readonly rate: number;
}

/** What became of a flood. */
export interface Flooded {
  /** Connections that were opened, a second. */
  readonly rate: number;
  /** Those that were open at the end. */
  readonly open: number;
  /** Those that the server closed, a second. */
  readonly closed: number;
}

/** Floods a port from a process of its own. */
export class Flood extends JobProcess<FloodJob | { readonly type: 'end' }> {
  constructor() {
    super('flood-process.ts');
  }

  /** Resolves once it has begun. */
  begin(job: Omit<FloodJob, 'type'>): Promise<void> {
    return this.ask({ type: 'begin', ...job });
  }

  /** Ends it, and resets all its connections. */
  end(): Promise<Flooded> {
    return this.ask({ type: 'end' });
  }
}
