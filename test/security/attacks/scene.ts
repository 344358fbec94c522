import { Issuer } from '../../support/issuer.ts';
import { type SigningKey, signingKey } from '../../support/jws.ts';

/** Whom an attack is aimed at, and what the attacker has. */
export interface Scene extends AsyncDisposable {
  readonly issuer: Issuer;
  /** A key of the attacker's own. */
  readonly own: SigningKey;
  /** A web server of the attacker's own, which publishes that key. Nobody should ever ask it. */
  readonly server: Issuer;
  /** Keys that the issuer publishes beside its good ones, and that must not be used as they are used here. */
  readonly unfit: Readonly<Record<'weak' | 'damaged' | 'encryption' | 'signOnly' | 'pss', SigningKey>>;
}

/** Secret that the issuer publishes, under the kid `shared`. */
export const PUBLISHED_SECRET = 'secret';

/** Starts both servers. */
export async function openScene(): Promise<Scene> {
  const [issuer, server] = await Promise.all([Issuer.start(), Issuer.start()]);
  const own = signingKey('ed25519');
  const unfit = {
    weak: signingKey('weak-rsa'),
    damaged: signingKey('rsa', { n: 'AQAB' }),
    encryption: signingKey('ed25519', { use: 'enc' }),
    signOnly: signingKey('ed25519', { key_ops: ['sign'] }),
    pss: signingKey('rsa', { alg: 'PS256' }),
  };
  const shared = { kty: 'oct', kid: 'shared', k: Buffer.from(PUBLISHED_SECRET).toString('base64url') };
  issuer.keySet = [...issuer.keySet, ...Object.values(unfit).map(({ jwk }) => jwk), shared];
  server.keySet = [own.jwk];
  return {
    issuer,
    own,
    server,
    unfit,
    async [Symbol.asyncDispose]() {
      await Promise.all([issuer.stop(), server.stop()]);
    },
  };
}
