import { render } from 'preact';
import { loadSettings } from './access.ts';
import { App } from './app.tsx';
import { unreachable } from './reach.ts';
import { startRouter } from './router.ts';
import { takeTokenFromAddress, watchExpiry } from './session.ts';

// Before all else, so that the token is in no address that anything else sees.
takeTokenFromAddress();
startRouter();
watchExpiry();
loadSettings().catch(unreachable);
render(<App />, document.getElementById('app')!);
