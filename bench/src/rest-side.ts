import { deepStrictEqual } from 'node:assert';
import type { Measured, Side } from './compare.ts';
import type { HttpJob, HttpRequest } from './load/job.ts';
import { ADD, DELETE, FIRST_ID, listRequest } from './plants.ts';
import type { Scene } from './scene.ts';
import type { Server } from './server.ts';
import { REST_WORKS } from './works.ts';

const CONNECTIONS = 64;
/** Owners in the mix. Shares no factor with the mix's period, so that each of them both lists and adds. */
const MIX_OWNERS = 11;
const MIX_LISTS = 9;

const JSON_BODY = { 'content-type': 'application/json' };

const WRITER = 'writer';
/** The owner of the long list. */
export const LONG = 'long list';

/** One REST server with its plants. Every reply is compared, also while it is seeded. */
export class RestSide implements Side {
  readonly name: string;
  readonly #scene: Scene;
  readonly #server: Server;
  readonly #settled: (() => Promise<void>) | undefined;
  readonly #learned = new Map<string, HttpRequest>();
  #add = ADD;
  #delete = DELETE;
  /** The writer's plants that are there. */
  readonly #added = { from: FIRST_ID, to: FIRST_ID };
  /** The next id to be added in the mix, after those that each owner begins with. */
  #mixed = FIRST_ID + 1_000;

  private constructor(scene: Scene, server: Server, settled: (() => Promise<void>) | undefined) {
    this.name = server.name;
    this.#scene = scene;
    this.#server = server;
    this.#settled = settled;
  }

  /** Gives a server its plants. Rejects when it replies anything but the same JSON as all others. */
  static async open(scene: Scene, server: Server, settled?: () => Promise<void>): Promise<RestSide> {
    const side = new RestSide(scene, server, settled);
    side.#add = await side.#learn(ADD, 'learner');
    side.#delete = await side.#learn(DELETE, 'learner');
    await side.#seed('short list', 20);
    await side.#seed(LONG, 1_000);
    for (let owner = 0; owner < MIX_OWNERS; owner++) await side.#seed(`mix ${owner}`, 20);
    return side;
  }

  async run(work: string, seconds: number): Promise<Measured | undefined> {
    switch (work) {
      case REST_WORKS.get20:
        return this.#list('short list', 20, seconds);
      case REST_WORKS.get1000:
        return this.#list(LONG, 1_000, seconds);
      case REST_WORKS.post64:
        return this.#write(CONNECTIONS, seconds);
      case REST_WORKS.post1:
        return this.#write(1, seconds);
      case REST_WORKS.delete64:
        return this.#erase(seconds);
      case REST_WORKS.mix:
        return this.#mix(seconds);
    }
    throw new Error(`no work of REST servers: ${work}`);
  }

  async #list(owner: string, plants: number, seconds: number): Promise<Measured> {
    const list = await this.#learn(listRequest('/plants', plants), owner);
    return this.#measure({ tokens: [this.#scene.token(owner)], requests: [list], connections: CONNECTIONS, seconds });
  }

  /** Adds plants that a later window deletes. */
  async #write(connections: number, seconds: number): Promise<Measured> {
    const ids = { from: this.#added.to, to: Number.POSITIVE_INFINITY };
    const job = { tokens: [this.#scene.token(WRITER)], requests: [this.#add], connections, seconds, ids };
    const measured = await this.#measure(job);
    this.#added.to = measured.nextId;
    return measured;
  }

  async #erase(seconds: number): Promise<Measured> {
    const job = { tokens: [this.#scene.token(WRITER)], requests: [this.#delete], connections: CONNECTIONS, seconds };
    const measured = await this.#measure({ ...job, ids: this.#added });
    this.#added.from = measured.nextId;
    return measured;
  }

  /** Each owner lists the first of its plants and adds others after them. */
  async #mix(seconds: number): Promise<Measured> {
    const owners = Array.from({ length: MIX_OWNERS }, (_, owner) => `mix ${owner}`);
    const list = await this.#learn(listRequest('/plants?limit=20', 20), owners[0]!);
    const requests = [...Array<HttpRequest>(MIX_LISTS).fill(list), this.#add];
    const ids = { from: this.#mixed, to: Number.POSITIVE_INFINITY };
    const tokens = owners.map((owner) => this.#scene.token(owner));
    const measured = await this.#measure({ tokens, requests, connections: CONNECTIONS, seconds, ids });
    this.#mixed = measured.nextId;
    return measured;
  }

  #measure(job: Omit<HttpJob, 'protocol' | 'urls'>): Promise<Measured & { readonly nextId: number }> {
    return this.#scene.measure(this.#server, { protocol: 'http', urls: [this.#server.url], ...job }, this.#settled);
  }

  /** On one connection, as conflicts make a peer many times slower on several. */
  async #seed(owner: string, plants: number): Promise<void> {
    const ids = { from: FIRST_ID, to: FIRST_ID + plants };
    const job = { tokens: [this.#scene.token(owner)], requests: [this.#add], connections: 1, seconds: Infinity, ids };
    await this.#scene.run({ protocol: 'http', urls: [this.#server.url], ...job });
  }

  /**
   * The request with the reply that this server gives to it, which must be the same JSON as expected. Servers differ in
   * the spaces, and in what they reply to a delete.
   */
  async #learn(request: HttpRequest, owner: string): Promise<HttpRequest> {
    const key = `${request.method} ${request.path} of ${owner}`;
    const known = this.#learned.get(key);
    if (known !== undefined) return known;
    const named = (text: string) => text.replaceAll('{id}', `${FIRST_ID}`);
    const response = await fetch(this.#server.url + named(request.path), {
      method: request.method,
      headers: { authorization: `Bearer ${this.#scene.token(owner)}`, ...(request.body && JSON_BODY) },
      ...(request.body && { body: named(request.body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${this.name}: ${request.method} ${request.path}: ${response.status} ${text}`);
    if (request.reply !== '') deepStrictEqual(JSON.parse(text), JSON.parse(named(request.reply)), this.name);
    const reply = request.body === undefined ? text : text.replaceAll(`${FIRST_ID}`, '{id}');
    const learned = { ...request, status: response.status, reply };
    this.#learned.set(key, learned);
    return learned;
  }
}
