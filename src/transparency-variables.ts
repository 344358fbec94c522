import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { isKeyName, parseVerifierKey } from './tlog/verifier-key.ts';

const ed25519Key = z.string().transform((value, context) => {
  try {
    const key = createPrivateKey(value);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {}
  context.addIssue({ code: 'custom' });
  return z.NEVER;
});

const witness = z.string().transform((value, context) => {
  const [, url = '', vkey = ''] = /^(https?:\/\/[^\s=?#]+)=(.+)$/.exec(value) ?? [];
  try {
    return { url: new URL(url), key: parseVerifierKey(vkey) };
  } catch {
    context.addIssue({ code: 'custom' });
    return z.NEVER;
  }
});

/** The variables of the transparency log: who can read it, and who signs and cosigns its checkpoints. */
export const TRANSPARENCY_VARIABLES = {
  PUBLIC_LOG: {
    schema: z.enum(['true', 'false']).transform((value) => value === 'true'),
    fallback: 'true',
    expected: 'true or false',
    meaning: 'whether /log is served on PORT, without a token',
  },
  LOG_ORIGIN: {
    schema: z.string().refine(isKeyName),
    expected: 'a name such as log.example.org/plants, without spaces or plus signs',
    meaning: 'name of the log and of its key in checkpoints; unset: plantstore/ and the id of the log',
  },
  AUDIT_SIGNING_KEY: {
    schema: ed25519Key,
    expected: 'an Ed25519 private key, as PKCS #8 in PEM',
    meaning: 'key that signs checkpoints of the log; unset: a key in DATA_DIR, generated on first use',
    secret: true,
  },
  WITNESSES: {
    schema: z
      .string()
      .transform((value) => value.split(/\s+/).filter(Boolean))
      .pipe(z.array(witness)),
    fallback: '',
    expected: 'URL=VKEY, or several separated by spaces',
    meaning: 'witnesses that cosign each checkpoint before it is served; unset: none',
  },
  WITNESS_QUORUM: {
    schema: z
      .string()
      .regex(/^[1-9]\d{0,2}$/)
      .transform(Number),
    expected: 'a whole number from 1 to the number of witnesses',
    meaning: 'cosignatures that a checkpoint needs; unset: those of all witnesses',
  },
} as const;
