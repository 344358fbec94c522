import { useEffect, useRef } from 'preact/hooks';
import { missing, owner, ownerOf, type Scope, settings } from './access.ts';
import { PANES, pathOf } from './panes/panes.ts';
import { offline } from './reach.ts';
import { linkTo, route } from './router.ts';
import { answerOffer, hadBadLink, offered, refusal, session, signOut } from './session.ts';
import { momentOf } from './times.ts';
import { SignIn } from './ui/sign-in.tsx';

/** The frame around the panes: navigation, the signed-in owner, and notices about the whole page. */
export function App() {
  const pane = PANES.find(({ title }) => pathOf(title) === route.value.pane) ?? PANES[0];
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${pane.title} – Plant Store`;
    // After navigation by keyboard, the focus moves into the new pane.
    if (isFirst.current) isFirst.current = false;
    else heading.current?.focus();
  }, [pane, session.value]);
  const isOpen = pane.scope === undefined || missing(pane.scope) === undefined;
  return (
    <>
      <button type="button" class="skip" onClick={() => heading.current?.focus()}>
        Skip to the content
      </button>
      <header class="frame">
        <a class="brand" href={linkTo('plants')}>
          <Leaf />
          Plant Store
        </a>
        <nav aria-label="Panes">
          {PANES.map(({ title, scope }) => {
            const lacked = scope && missing(scope);
            const needs = lacked && `needs ${lacked}`;
            return (
              <a
                key={title}
                href={linkTo(pathOf(title))}
                class={needs && 'locked'}
                title={needs}
                aria-current={title === pane.title ? 'page' : undefined}
              >
                {title} {needs && <small aria-hidden="true">{needs}</small>}
              </a>
            );
          })}
          <a href="/docs">API</a>
        </nav>
        <Who />
      </header>
      <main>
        <div role="status" class="banners">
          {offline.value && (
            <p class="banner bad">
              The service cannot be reached. What you see may be old. The page reconnects by itself.
            </p>
          )}
        </div>
        {offered.value !== undefined && (
          <section class="banner bad" role="alert">
            <p>
              The link that you opened signs in as <strong>{ownerOf(offered.value.claims)}</strong>. You are signed in
              as <strong>{owner.value}</strong>.
            </p>
            <p class="choices">
              <button type="button" class="primary" onClick={() => answerOffer(false)}>
                Stay {owner.value}
              </button>
              <button type="button" onClick={() => answerOffer(true)}>
                Sign in as {ownerOf(offered.value.claims)}
              </button>
            </p>
          </section>
        )}
        {hadBadLink.value && session.value === undefined && (
          <p class="banner bad" role="alert">
            The link that you opened holds no whole token. Copy all of it, or paste a token below.
          </p>
        )}
        {refusal.value !== undefined && session.value !== undefined && (
          <section class="banner bad" role="alert">
            <p>
              <strong>{refusal.value}</strong> Sign in with another one to go on where you are.
            </p>
            <SignIn />
          </section>
        )}
        <h1 ref={heading} tabIndex={-1}>
          {pane.title}
        </h1>
        <p class="purpose">{pane.purpose}</p>
        {settings.value === undefined ? (
          <p class="loading">Loading…</p>
        ) : isOpen ? (
          <pane.view key={`${pane.title} ${owner.value}`} />
        ) : (
          <Needs scope={pane.scope!} />
        )}
      </main>
    </>
  );
}

function Who() {
  const { value: current } = session;
  if (current === undefined) return <div class="who">Not signed in</div>;
  const { expires, scopes } = current.claims;
  return (
    <div class="who">
      <p class="who-name">{owner.value}</p>
      <ul class="who-scopes" aria-label="Scopes">
        {scopes.size === 0 && <li>no scopes</li>}
        {[...scopes].map((scope) => (
          <li key={scope}>{scope}</li>
        ))}
      </ul>
      {Number.isFinite(expires) && <p class="who-until">until {momentOf(expires)}</p>}
      <button type="button" class="quiet" onClick={signOut}>
        Sign out
      </button>
    </div>
  );
}

function Leaf() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <path d="M27 4C13 4 6 10 6 19c0 2 .4 3.700 1 5 2-7 7-11 13-13-5 3-9 8-10.500 15.500.900.300 2 .500 3.500.500C22 27 27 19 27 4Z" />
    </svg>
  );
}

/** Says which scope a pane needs that the token lacks, and how to get it. */
function Needs({ scope }: { readonly scope: Scope }) {
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
