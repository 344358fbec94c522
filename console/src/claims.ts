/** The payload of a token, not verified. It decides what the page shows; the service decides what is allowed. */
export interface Claims {
  readonly subject: string;
  readonly scopes: ReadonlySet<string>;
  /** Milliseconds since the epoch. */
  readonly expires: number;
  /** All of them, by name. */
  readonly all: Readonly<Record<string, unknown>>;
}

/** The token in a text that was copied from a shell, a file of settings or a request. Blanks in it stay. */
export const tokenIn = (text: string): string =>
  text
    .split(/[\s"']+/)
    .map((word) => word.replace(/^TOKEN=/i, ''))
    .filter((word) => word !== '' && word.toLowerCase() !== 'bearer')
    .join(' ');

/** Why a text is no JWT, for who copied it; undefined if it has the form of one. */
export function faultOf(token: string): string | undefined {
  if (/[^\w.-]/.test(token))
    return 'This is not a token: it has a character that no token has. Copy the whole line that plantstore token prints.';
  return claimsOf(token) === undefined
    ? 'This is not a token. A token has three parts with dots between them.'
    : undefined;
}

/** The claims of a JWT in the compact form (RFC 7515, section 7.1); undefined if the text is not one. */
export function claimsOf(token: string): Claims | undefined {
  const payload = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token)?.[1];
  if (payload === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
    const all = JSON.parse(new TextDecoder().decode(bytes));
    return {
      subject: typeof all.sub === 'string' ? all.sub : '',
      scopes: new Set([...words(all.scope), ...words(all.scp)]),
      expires: typeof all.exp === 'number' ? all.exp * 1000 : Number.POSITIVE_INFINITY,
      all,
    };
  } catch {
    return undefined;
  }
}

function words(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((word) => word !== '');
  return Array.isArray(value) ? value.filter((word) => typeof word === 'string') : [];
}
