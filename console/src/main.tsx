import { render } from 'preact';
import { App } from './app.tsx';
import { watchReach } from './reach.ts';
import { startRouter } from './router.ts';
import { takeTokenFromAddress, watchExpiry } from './session.ts';

// Before all else, so that the token is in no address that anything else sees.
takeTokenFromAddress();
startRouter();
watchExpiry();
watchReach();
render(<App />, document.getElementById('app')!);
