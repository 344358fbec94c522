/** The payload of a token, not verified. It decides what the page shows; the service decides what is allowed. */
export interface Claims {
  readonly subject: string;
  readonly scopes: ReadonlySet<string>;
  /** Milliseconds since the epoch. */
  readonly expires: number;
  /** All of them, by name. */
  readonly all: Readonly<Record<string, unknown>>;
}

/** The claims of a JWT; undefined if the text is not a JWT. */
export function claimsOf(token: string): Claims | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const bytes = Uint8Array.from(atob(parts[1]!.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
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
