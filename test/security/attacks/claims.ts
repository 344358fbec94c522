import { type Attack, type Expectation, forged, refused, token } from './attack.ts';

const EXPIRED = refused('expired', 'the token has expired; get a new one');
const EARLY = refused('not_yet_valid', 'the token is not valid yet; its claim nbf must not be in the future');
const ETERNAL = refused('no_expiry', 'the token has no valid expiry; its claim exp must be a number');
const ISSUER = refused('issuer', 'the claim iss of the token names an issuer that this service does not trust');
const AUDIENCE = refused('audience', 'the token is not for this service; its claim aud does not name it');
const TYPE = refused('type', 'the token is not an access token, according to its header typ or its claim events');
const BOUND = refused(
  'sender_constrained',
  'the token is bound to a key by its claim cnf, so it is not a bearer token',
);
const OWNER = refused(
  'owner',
  'the token names no owner; the owner claim must be 1 to 1024 characters, not blank, without control characters',
);

const TIMES = refused(
  'time',
  'the token has invalid times; its claims exp, nbf and iat must be seconds since 1970, before the year 10000',
);
const UNREADABLE = refused('claims', 'the claims of the token cannot be read; its payload must be a JSON object');
const FUTURE = refused(
  'issued_in_future',
  'the token was issued in the future; its claim iat must not be in the future',
);

const claims = (name: string, expect: Expectation, changes: Record<string, unknown> | string): Attack =>
  token(name, expect, ({ issuer }) => issuer.token({ claims: changes }));

/** Claims that depend on the time of the attack, in seconds. */
const timed = (name: string, expect: Expectation, changes: (now: number) => Record<string, unknown>): Attack =>
  token(name, expect, ({ issuer }) => issuer.token({ claims: changes(Math.floor(Date.now() / 1000)) }));

const header = (name: string, expect: Expectation, changes: object): Attack =>
  token(name, expect, ({ issuer }) => issuer.token({ header: changes }));

const TYPES = ['dpop+jwt', 'logout+jwt', 'application/secevent+jwt', 'JWE', 'at+jwt; x', '', 7, null, ['JWT']];
const OWNERS = [undefined, null, '', 7, true, ['alice'], { name: 'alice' }, 'x'.repeat(1025), '\ud800', 'alice\udc00'];
const BLANK_OWNERS = [' ', '\t', '\u00a0\u3000\u2028', '\ufeff'];
const CONTROLS = ['\0', '\n', '\r', '\u001b', '\u007f', '\u0080', '\u0085', '\u009f'];

/** Tokens that the issuer did sign, and that are used where, when or as what they are not meant to be. */
export const claimAttacks: readonly Attack[] = [
  claims('another issuer', ISSUER, { iss: 'https://other.test/' }),
  claims('the issuer without its slash', ISSUER, { iss: 'https://issuer.test' }),
  claims('the issuer in capitals', ISSUER, { iss: 'HTTPS://ISSUER.TEST/' }),
  claims('the issuer in a list', ISSUER, { iss: ['https://issuer.test/'] }),
  claims('no issuer', ISSUER, { iss: undefined }),
  claims('another audience', AUDIENCE, { aud: 'https://animals.test' }),
  claims('a list of other audiences', AUDIENCE, { aud: ['https://animals.test', 'https://plants.test.evil'] }),
  claims('an audience that begins like ours', AUDIENCE, { aud: 'https://plants.test/admin' }),
  claims('an audience in an object', AUDIENCE, { aud: { 0: 'https://plants.test', length: 1 } }),
  claims('an empty list of audiences', AUDIENCE, { aud: [] }),
  claims('no audience', AUDIENCE, { aud: undefined }),
  claims('a logout token without its type', TYPE, {
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  }),
  claims('expired long ago', EXPIRED, { exp: 1 }),
  claims('expired before the epoch', EXPIRED, { exp: -1 }),
  timed('expired by just more than clocks may differ', EXPIRED, (now) => ({ exp: now - 30 })),
  timed('not yet valid', EARLY, (now) => ({ nbf: now + 3600 })),
  claims('no expiry', ETERNAL, { exp: undefined }),
  claims('an expiry of null', ETERNAL, { exp: null }),
  claims('an expiry as text', ETERNAL, { exp: '9999999999' }),
  claims('an expiry in a list', ETERNAL, { exp: [9_999_999_999] }),
  claims('a start as text', TIMES, { nbf: '1' }),
  claims('an issue time as text', TIMES, { iat: '1' }),
  claims('an expiry beyond all times', TIMES, { exp: 1e300 }),
  timed('an expiry in milliseconds', TIMES, (now) => ({ exp: (now + 3600) * 1000 })),
  token('an expiry that JSON reads as infinity', TIMES, ({ issuer }) =>
    issuer.token({ claims: JSON.stringify(issuer.claims({ exp: 0 })).replace('"exp":0', '"exp":1e999') }),
  ),
  claims('a start before all times', TIMES, { nbf: -1e300 }),
  claims('an issue time before the epoch', TIMES, { iat: -1 }),
  claims('an issue time beyond all times', TIMES, { iat: 1e300 }),
  timed('issued in the future', FUTURE, (now) => ({ iat: now + 3600 })),
  timed('issued later than clocks may differ', FUTURE, (now) => ({ iat: now + 60 })),
  claims('a token bound to a key', BOUND, { cnf: { jkt: 'x' } }),
  claims('a payload that is a list', UNREADABLE, '[1]'),
  claims('a payload that is null', UNREADABLE, 'null'),
  claims('a payload that is not JSON', UNREADABLE, 'sub=alice'),
  ...TYPES.map((typ) => header(`typ ${JSON.stringify(typ)}`, TYPE, { typ })),
  header('crit with an unknown extension', forged('critical_header'), { crit: ['exp2'], exp2: 1 }),
  header('crit with an extension that is not there', forged('critical_header'), { crit: ['exp2'] }),
  header('crit with b64 true', forged('critical_header'), { crit: ['b64'], b64: true }),
  header('crit with b64 false', UNREADABLE, { crit: ['b64'], b64: false }),
  header('an empty crit', forged('malformed'), { crit: [] }),
  header('crit that is no list', forged('malformed'), { crit: 'alg' }),
  ...BLANK_OWNERS.map((sub) => claims(`blank owner ${JSON.stringify(sub)}`, OWNER, { sub })),
  ...CONTROLS.map((control) =>
    claims(`owner with U+${control.charCodeAt(0).toString(16)}`, OWNER, { sub: `al${control}ice` }),
  ),
  ...OWNERS.map((sub) => claims(`owner ${JSON.stringify(sub)?.slice(0, 40)}`, OWNER, { sub })),
];
