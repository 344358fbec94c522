/** Whether something that the service needs is there, and why, in a line for the operator that holds no credential. */
export interface Readiness {
  readonly ready: boolean;
  /** True while the service does without it what it can, and an operator should look. */
  readonly degraded?: boolean;
  readonly detail?: string;
}

/** The readiness of one dependency. */
export interface Dependency extends Readiness {
  readonly name: string;
  /** When it was first seen in this state: ISO 8601, UTC. */
  readonly since: string;
}

/** Whether requests should be sent here: while everything that the service needs is there, and it does not stop. */
export class Health {
  readonly #checks: ReadonlyMap<string, () => Readiness>;
  readonly #seen = new Map<string, Pick<Dependency, 'ready' | 'degraded' | 'since'>>();
  #draining = false;

  /** A check for each dependency by its name; it is asked at every probe, so it answers from what is known. */
  constructor(checks: Readonly<Record<string, () => Readiness>>) {
    this.#checks = new Map(Object.entries(checks));
    this.dependencies();
  }

  /** The service stops: it is not ready from now on. */
  drain(): void {
    this.#draining = true;
  }

  /** True while the service stops. */
  get draining(): boolean {
    return this.#draining;
  }

  /** True when every dependency is ready and the service does not stop. */
  get ready(): boolean {
    return !this.#draining && this.dependencies().every(({ ready }) => ready);
  }

  /** Every dependency as it is now. */
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
