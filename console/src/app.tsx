import { PANES } from './panes/panes.ts';
import { linkTo, route } from './router.ts';

/** The frame around the panes. */
export function App() {
  const pane = PANES.find(({ path }) => path === route.value.pane) ?? PANES[0];
  return (
    <>
      <nav aria-label="Panes">
        {PANES.map(({ path, title }) => (
          <a key={path} href={linkTo(path)} aria-current={path === pane.path ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <main>
        <h1>{pane.title}</h1>
        <p>{pane.purpose}</p>
        <pane.view />
      </main>
    </>
  );
}
