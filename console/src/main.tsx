import { render } from 'preact';
import { App } from './app.tsx';
import { watchReach } from './reach.ts';
import { startRouter } from './router.ts';
import { takeTokenFromAddress } from './session.ts';

// First of all, so that no other code sees an address that contains the token.
takeTokenFromAddress();
startRouter();
watchReach();
render(<App />, document.getElementById('app')!);
