/**
 * What a newcomer can do first: a link that opens the console, and a curl to paste, with a token of development mode. In the link the
 * token is in the fragment, which no browser sends.
 */
export const welcome = (url: string, token: string): string => `
The plant store runs in development mode. This opens the console, signed in as alice:

${url}/console#token=${token}

Or paste this to add a plant to alice's:

curl ${url}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{"id":7,"name":"Fern","tag":"indoor"}'

The same without -d and the Content-Type lists them. Try all of it at ${url}/docs
The token lasts an hour; npx plantstore token --owner alice makes another. What follows is the service's log.

`;
