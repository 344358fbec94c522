import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { compact, type SigningKey, signAs, signingKey } from './jws.ts';

/** How the issuer responds to requests for its keys. */
export type Behaviour = keyof typeof BEHAVIOURS;

const HUGE = 10 * 1024 * 1024;

const BEHAVIOURS = {
  good: (response: ServerResponse, issuer: Issuer) => void response.end(JSON.stringify({ keys: issuer.keySet })),
  fails: (response: ServerResponse) => void response.writeHead(500).end('{"keys":[]}'),
  garbage: (response: ServerResponse) => void response.end('<html>maintenance</html>'),
  'other json': (response: ServerResponse) => void response.end('[{"keys":7}]'),
  null: (response: ServerResponse) => void response.end('null'),
  'no keys': (response: ServerResponse) => void response.end('{"keys":[]}'),
  'no signing keys': (response: ServerResponse) =>
    void response.end('{"keys":[null,{},{"kty":"oct","k":"AA"},{"kty":"RSA","use":"enc"}]}'),
  huge: (response: ServerResponse, issuer: Issuer) => {
    const keys = JSON.stringify(issuer.keySet);
    response.end(`{"padding":"${'x'.repeat(HUGE)}","keys":${keys}}`);
  },
  silent: () => {},
  endless: (response: ServerResponse) => {
    response.write('{"keys":[');
    const timer = setInterval(() => response.write(' '), 5);
    response.on('close', () => clearInterval(timer));
  },
  'hangs up': (response: ServerResponse) => void response.destroy(),
  redirects: (response: ServerResponse) => void response.writeHead(302, { location: '/elsewhere' }).end(),
};

/**
 * An issuer of tokens with a real key set server, in the test's process. Behaviour and keys can be changed at any time.
 * Counts requests.
 */
export class Issuer implements AsyncDisposable {
  readonly issuer = 'https://issuer.test/';
  readonly audience = 'https://plants.test';
  readonly rsa = signingKey('rsa');
  readonly ec = signingKey('ec');
  readonly ed25519 = signingKey('ed25519');
  /** The published keys. */
  keySet: SigningKey['jwk'][] = [this.rsa.jwk, this.ec.jwk, this.ed25519.jwk];
  behaviour: Behaviour = 'good';
  /** Requests so far for the key set, and for anything else. */
  fetches = 0;
  strays = 0;
  #server: Server;
  #port = 0;

  private constructor() {
    this.#server = this.#create();
  }

  /** Starts an issuer on a free port of the loopback. */
  static async start(): Promise<Issuer> {
    const issuer = new Issuer();
    await issuer.resume();
    return issuer;
  }

  /** URL of the keys. It stays the same after a stop. */
  get jwksUrl(): URL {
    return new URL(`http://127.0.0.1:${this.#port}/jwks.json`);
  }

  /** Refuses connections from now on. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  /** Listens again, on the same port. */
  async resume(): Promise<void> {
    this.#server = this.#create();
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Publishes a new key, in place of all others or beside them, and returns it. */
  rotate({ keep = false } = {}): SigningKey {
    const key = signingKey('ed25519');
    this.keySet = keep ? [...this.keySet, key.jwk] : [key.jwk];
    return key;
  }

  /** Valid claims. Given claims are added or replace them; undefined removes a claim. */
  claims(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    const now = Math.floor(Date.now() / 1000);
    return { iss: this.issuer, aud: this.audience, sub: 'alice', iat: now, exp: now + 3600, ...changes };
  }

  /** A token. Valid unless the options make it invalid. */
  token({ alg = 'EdDSA', key = this.keyFor(alg), claims = {}, header = {} }: TokenParts = {}): string {
    const head = { alg, kid: key.kid, typ: 'at+jwt', ...header };
    return compact(head, typeof claims === 'string' ? claims : this.claims(claims), signAs(alg, key.privateKey));
  }

  /** The published key for an algorithm. */
  keyFor(alg: string): SigningKey {
    if (alg.startsWith('Ed')) return this.ed25519;
    return alg.startsWith('ES') ? this.ec : this.rsa;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #create(): Server {
    return createServer((request, response) => {
      if (request.url !== '/jwks.json') this.strays += 1;
      else this.fetches += 1;
      BEHAVIOURS[this.behaviour](response, this);
    });
  }
}

/** The parts of a token. Claims given as text become the payload unchanged. */
export interface TokenParts {
  readonly alg?: string;
  readonly key?: SigningKey;
  readonly claims?: Readonly<Record<string, unknown>> | string;
  readonly header?: object;
}
