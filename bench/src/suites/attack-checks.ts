import type { Checkout } from '../plantstore.ts';
import type { Bench } from '../resources.ts';

/** What a caller must get whatever others do, by name. Each says how it went. */
export const CHECKS: Readonly<Record<string, (bench: Bench, checkout: Checkout) => Promise<string>>> = {};
