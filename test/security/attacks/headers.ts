import { type Attack, header, MALFORMED, refused, token, WITHOUT } from './attack.ts';

const TOO_LONG = refused('token_too_long', 'the token is longer than 8 KiB');

/** What is wrong with the request before anybody looks into a token. */
export const headerAttacks: readonly Attack[] = [
  { name: 'no header', build: () => ({ headers: {} }), expect: WITHOUT },
  header('an empty header', WITHOUT, () => ''),
  header('Digest credentials', WITHOUT, () => 'Digest username="a", realm="b"'),
  header('Basic credentials', WITHOUT, () => `Basic ${Buffer.from('alice:secret').toString('base64')}`),
  header('a good token under the scheme DPoP', WITHOUT, ({ issuer }) => `DPoP ${issuer.token()}`),
  header('a good token under no scheme', WITHOUT, ({ issuer }) => issuer.token()),
  header('a good token glued to the scheme', WITHOUT, ({ issuer }) => `Bearer${issuer.token()}`),
  header('Bearer and nothing', WITHOUT, () => 'Bearer'),
  {
    name: 'a good token in the query',
    build: ({ issuer }) => ({ headers: {}, path: `/plants?access_token=${issuer.token()}` }),
    expect: WITHOUT,
  },
  {
    name: 'a good token in a cookie',
    build: ({ issuer }) => ({ headers: { cookie: `access_token=${issuer.token()}` } }),
    expect: WITHOUT,
  },
  {
    name: 'a good token in the header of a proxy',
    build: ({ issuer }) => ({ headers: { 'x-forwarded-authorization': `Bearer ${issuer.token()}` } }),
    expect: WITHOUT,
  },
  header('two Authorization headers, the same twice', MALFORMED, ({ issuer }) => {
    const good = `Bearer ${issuer.token()}`;
    return [good, good];
  }),
  header('two Authorization headers, the first good', MALFORMED, ({ issuer }) => [
    `Bearer ${issuer.token()}`,
    'Bearer x',
  ]),
  header('two Authorization headers, the second good', MALFORMED, ({ issuer }) => [
    'Basic eDp5',
    `Bearer ${issuer.token()}`,
  ]),
  header(
    'two tokens joined by a comma',
    MALFORMED,
    ({ issuer }) => `Bearer ${issuer.token()}, Bearer ${issuer.token()}`,
  ),
  header('a good token in quotes', MALFORMED, ({ issuer }) => `Bearer "${issuer.token()}"`),
  header('a good token and a word more', MALFORMED, ({ issuer }) => `Bearer ${issuer.token()} admin`),
  header('a good token and a letter that is not ASCII', MALFORMED, ({ issuer }) => `Bearer ${issuer.token()}é`),
  header('a JWS in JSON', MALFORMED, ({ issuer }) => {
    const [head, payload, signature] = issuer.token().split('.');
    return `Bearer ${JSON.stringify({ protected: head, payload, signature })}`;
  }),
  token('a good token of more than 8 KiB', TOO_LONG, ({ issuer }) =>
    issuer.token({ claims: { padding: 'x'.repeat(6200) } }),
  ),
  {
    ...token('a token of 64 KiB', TOO_LONG, () => 'A'.repeat(65_536)),
    expectOverHttp: { status: 400, wwwAuthenticate: undefined },
  },
];
