/** The readiness of something that the service needs. */
export interface Readiness {
  readonly ready: boolean;
  /**
   * True while the service works without it as far as possible, and an operator should act. `store-state.ts` and
   * `start/publication.ts` decide it.
   */
  readonly degraded?: boolean;
  /** A line for the operator. Contains no credential. */
  readonly detail?: string;
  /** Of the store: the id of its log, once it is known. */
  readonly log?: string | undefined;
}

/** The readiness of a dependency that is still starting. */
export const STARTING: Readiness = { ready: false, detail: 'starting' };

/** The readiness of one dependency. */
export interface Dependency extends Readiness {
  readonly name: string;
  /** Start of its current state, as first observed: ISO 8601, UTC. */
  readonly since: string;
}

/** Whether load balancers should send requests: all dependencies are ready, and the service is not stopping. */
export class Health {
  readonly #checks: Map<string, () => Readiness>;
  readonly #seen = new Map<string, Pick<Dependency, 'ready' | 'degraded' | 'since'>>();
  /** Whether the service stops. It is unready from then on. */
  draining = false;

  /** `checks` has a check for each dependency by name. Every probe calls it, so it must not wait. */
  constructor(checks: Readonly<Record<string, () => Readiness>>) {
    this.#checks = new Map(Object.entries(checks));
    this.dependencies();
  }

  /** Takes the check of a dependency in place of the one before. */
  set(name: string, check: () => Readiness): void {
    this.#checks.set(name, check);
  }

  get ready(): boolean {
    return !this.draining && this.dependencies().every(({ ready }) => ready);
  }

  get status(): 'ready' | 'not ready' | 'draining' {
    if (this.draining) return 'draining';
    return this.ready ? 'ready' : 'not ready';
  }

  dependencies(): Dependency[] {
    return this.#checks
      .entries()
      .map(([name, check]) => {
        const found = check();
        return { name, ...found, since: this.#since(name, found) };
      })
      .toArray();
  }

  #since(name: string, { ready, degraded = false }: Readiness): string {
    const seen = this.#seen.get(name);
    if (seen?.ready === ready && seen.degraded === degraded) return seen.since;
    const since = new Date().toISOString();
    this.#seen.set(name, { ready, degraded, since });
    return since;
  }
}
