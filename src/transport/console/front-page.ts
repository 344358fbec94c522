import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import { withoutToken } from '../http/authentication.ts';
import { prefers } from '../http/headers.ts';

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; }
body { max-width: 38rem; margin: 12vh auto; padding: 0 1.25rem; background: light-dark(#f6f7f4, #101411); color: light-dark(#17201a, #e4e9e3); }
h1 { margin: 0; font-size: 1.75rem; letter-spacing: -0.02em; }
h2 { margin: 2.5rem 0 0.5rem; font-size: 1.05rem; }
p { margin: 0.5rem 0; }
ul { display: grid; gap: 0.6rem; margin: 2rem 0 0; padding: 0; list-style: none; }
a { color: light-dark(#1b6b42, #7fcb9f); font-weight: 600; text-underline-offset: 0.2em; }
pre { overflow-x: auto; padding: 0.9rem 1rem; border-radius: 8px; background: light-dark(#eef0eb, #1d231e); font: 0.82rem/1.6 ui-monospace, monospace; }
`;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Plant Store</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Plant Store</h1>
<p>Stores plants, and every change to them in a log that anybody can verify.</p>
<ul>
<li><a href="/console">Console</a>: see the plants, the log, earlier states, and proofs.</li>
<li><a href="/docs">API</a>: read it, and try it out. <a href="/openapi.json">openapi.json</a> is for programs.</li>
</ul>
<h2>The first five minutes</h2>
<p>Run this in a terminal, in the folder of the service. If the service runs elsewhere, ask its operator for a token. The README continues from here.</p>
<pre tabindex="0">TOKEN=$(npx plantstore token --owner alice)
PLANTS=http://127.0.0.1:%port%/plants

curl -w '\\n' $PLANTS -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" -d '{"id":2,"name":"Ivy"}'
curl -w '\\n' $PLANTS -H "Authorization: Bearer $TOKEN"
curl $PLANTS/2 -H "Authorization: Bearer $TOKEN" -X DELETE</pre>
</main>
</body>
</html>
`;

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-cache',
  'referrer-policy': 'no-referrer',
};

/** Adds `/` for people: a page with links. Clients that do not ask for HTML get 404. */
export function registerFrontPage(app: FastifyInstance): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/',
    onRequest: [refusePrograms, withoutToken],
    handler: async ({ socket }, reply) => reply.headers(HEADERS).send(PAGE.replace('%port%', String(socket.localPort))),
  });
}

function refusePrograms({ headers }: FastifyRequest, reply: FastifyReply, next: () => void): void {
  reply.header('vary', 'accept');
  if (!prefers('text/html', headers.accept))
    throw new PlantStoreError('ROUTE_NOT_FOUND', 'unknown path; see /openapi.json');
  next();
}
