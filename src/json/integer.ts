/** Most digits that an int64 has. */
const INT64_DIGITS = 19;

const SHORT_INTEGER = /^-?\d{1,19}$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * The integer value of a JSON number (RFC 8259, section 6) in any notation: `7`, `7.0`, `70e-1`. Undefined for a
 * fraction, and for an integer of more than 19 digits. `source` must be a JSON number.
 */
export function integerOf(source: string): bigint | undefined {
  if (SHORT_INTEGER.test(source)) return BigInt(source);
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source)!;
  const digits = whole + fraction;
  const start = countZeros(digits, 0, 1);
  if (start === digits.length) return 0n;
  const end = digits.length - countZeros(digits, digits.length - 1, -1);
  const zeros = Number(exponent) + whole.length - end;
  if (zeros < 0 || end - start + zeros > INT64_DIGITS) return undefined;
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(zeros));
}

function countZeros(digits: string, from: number, step: 1 | -1): number {
  let at = from;
  while (digits[at] === '0') at += step;
  return Math.abs(at - from);
}
