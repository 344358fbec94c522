/** A plant as REST takes it; an id that no number holds is written as digits. */
export interface PlantToAdd {
  readonly id: number | bigint;
  readonly name: string;
  readonly tag?: string;
}

/** Another client that writes while the console looks. Each call rejects unless it succeeds. */
export class PlantsClient {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  /** Adds plants, one after the other. */
  async add(...plants: readonly PlantToAdd[]): Promise<void> {
    for (const { id, name, tag } of plants) {
      const rest = JSON.stringify({ name, tag }).slice(1);
      await this.#call('POST', '/plants', `{"id":${id},${rest}`);
    }
  }

  /** Deletes a plant. */
  delete(id: number | bigint): Promise<void> {
    return this.#call('DELETE', `/plants/${id}`);
  }

  async #call(method: string, path: string, body?: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.#token}`, ...(body && { 'content-type': 'application/json' }) };
    const response = await fetch(`${this.#url}${path}`, { method, headers, ...(body && { body }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  }
}
