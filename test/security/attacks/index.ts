import { algorithmAttacks } from './algorithms.ts';
import type { Attack } from './attack.ts';
import { claimAttacks } from './claims.ts';
import { headerAttacks } from './headers.ts';
import { keyAttacks } from './keys.ts';
import { signatureAttacks } from './signatures.ts';

/** Every attack that the service has to withstand, on every transport. */
export const attacks: readonly Attack[] = [
  ...headerAttacks,
  ...algorithmAttacks,
  ...signatureAttacks,
  ...keyAttacks,
  ...claimAttacks,
];
