import type { Why } from '../../../src/auth/refusal.ts';
import type { Scene } from './scene.ts';

/** A request as any transport can send it. */
export interface AttackRequest {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Path and query on REST; `/plants` unless given. */
  readonly path?: string;
}

/** What the service has to answer. */
export interface Answer {
  readonly status: number;
  readonly wwwAuthenticate: string | undefined;
}

/** The right answer, and the reason that the log gives: an attack that fails for another reason was not tried. */
export interface Expectation extends Answer {
  readonly why: Why;
}

/** One way to get in without a right to. */
export interface Attack {
  readonly name: string;
  readonly build: (scene: Scene) => AttackRequest | Promise<AttackRequest>;
  readonly expect: Expectation;
  /** The answer of an HTTP server whose limits stop the request before anybody looks at its token. */
  readonly expectOverHttp?: Answer;
}

const REALM = 'Bearer realm="plantstore"';

/** A token is refused, with this description. */
export const refused = (why: Why, description: string): Expectation => ({
  status: 401,
  wwwAuthenticate: `${REALM}, error="invalid_token", error_description="${description}"`,
  why,
});

/** The one answer to whatever the issuer did not sign. */
export const forged = (why: Why): Expectation =>
  refused(why, 'the token is not signed by an issuer that this service trusts; get a token for this service');

/** No token came. */
export const WITHOUT: Expectation = { status: 401, wwwAuthenticate: REALM, why: 'no_token' };

/** What came is not one token. */
export const MALFORMED: Expectation = {
  status: 400,
  wwwAuthenticate: `${REALM}, error="invalid_request", error_description="send one Authorization header: Bearer, a space, and the token as it was issued"`,
  why: 'malformed_header',
};

/** An attack by the Authorization header, or by several. */
export const header = (
  name: string,
  expect: Expectation,
  authorization: (scene: Scene) => string | readonly string[],
): Attack => ({ name, build: (scene) => ({ headers: { authorization: authorization(scene) } }), expect });

/** An attack by a bearer token. */
export const token = (
  name: string,
  expect: Expectation,
  build: (scene: Scene) => string | Promise<string>,
): Attack => ({
  name,
  build: async (scene) => ({ headers: { authorization: `Bearer ${await build(scene)}` } }),
  expect,
});
