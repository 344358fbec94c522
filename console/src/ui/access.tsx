import type { Scope } from '../access.ts';
import { session } from '../session.ts';
import { SignIn } from './sign-in.tsx';

/** Says which scope a pane needs that the token lacks, and how to get it. */
export function Needs({ scope }: { readonly scope: Scope }) {
  const { value: current } = session;
  const has = [...(current?.claims.scopes ?? [])];
  return (
    <section class="card access">
      <h2>{current === undefined ? 'Sign in' : `This pane needs ${scope}`}</h2>
      {current === undefined ? (
        <p>The console calls the service with your token. It stays in this tab, and goes only to this service.</p>
      ) : (
        <p>
          {has.length === 0 ? 'Your token has no scopes.' : `Your token has ${has.join(', ')}.`} Sign in with another
          one to see it.
        </p>
      )}
      <SignIn />
    </section>
  );
}
