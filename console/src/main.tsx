import { render } from 'preact';
import { App } from './app.tsx';
import { startRouter } from './router.ts';
import { takeTokenFromAddress } from './session.ts';

// Before all else, so that the token is in no address that anything else sees.
takeTokenFromAddress();
startRouter();
render(<App />, document.getElementById('app')!);
