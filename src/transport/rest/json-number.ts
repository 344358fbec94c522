/** Most digits that an int64 has. */
const INT64_DIGITS = 19;

const SHORT_INTEGER = /^-?\d{1,19}$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The integer that a JSON number stands for; undefined when it stands for none, or for one of more than 19 digits. */
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

const NUMBER_TOKEN = /[-+.\deE]+/y;

/**
 * The numbers among the members of a JSON object as they are written, by member name; the last of equal names. The text must
 * be valid. One pass: JSON.parse tells the source of each value too, but its reviver takes half a second for a body of
 * 1 MiB that holds nothing but numbers.
 */
export function numberSources(text: string): Map<string, string> {
  const sources = new Map<string, string>();
  let depth = 0;
  let name = '';
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (character === '{' || character === '[') depth++;
    else if (character === '}' || character === ']') depth--;
    else if (character === '"') {
      const end = closingQuote(text, at);
      if (depth === 1) name = text.slice(at, end + 1);
      at = end;
    } else if (depth === 1 && (character === '-' || (character >= '0' && character <= '9'))) {
      NUMBER_TOKEN.lastIndex = at;
      const [token] = NUMBER_TOKEN.exec(text)!;
      sources.set(JSON.parse(name), token);
      at += token.length - 1;
    }
  }
  return sources;
}

function closingQuote(text: string, opening: number): number {
  let at = text.indexOf('"', opening + 1);
  while (isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes++;
  return backslashes % 2 === 1;
}
