import { JobProcess } from './job-process.ts';

/** What is attacked, all of it on this machine, and the token that an attacker may use. */
export interface Target {
  readonly port: number;
  readonly grpcPort: number;
  readonly token: string;
}

/** Begins one of the ATTACKS. */
export interface AttackJob {
  readonly type: 'begin';
  readonly name: string;
  readonly target: Target;
}

/** What an attacker got: how often each status, and connections that were opened and that the service closed. */
export type Attacked = Readonly<Record<string, number>>;

/** Attacks from a process of its own. */
export class Attacker extends JobProcess<AttackJob | { readonly type: 'end' }> {
  constructor() {
    super('attack-process.ts');
  }

  /** Resolves once it has begun. */
  begin(name: string, target: Target): Promise<void> {
    return this.ask({ type: 'begin', name, target });
  }

  /** Ends it, and resets all its connections. */
  end(): Promise<Attacked> {
    return this.ask({ type: 'end' });
  }
}
