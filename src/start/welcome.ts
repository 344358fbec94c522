/**
 * The first steps for a newcomer, with a token of development mode: a link to the console, and a curl command. The link
 * has the token in its fragment, which browsers do not send.
 */
export const welcome = (url: string, token: string): string => `
The plant store runs in development mode. Open this link for the console, signed in as alice:

${url}/console#token=${token}

Or run this to add a plant of alice:

curl -w '\\n' ${url}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{"id":1,"name":"Moss","tag":"outdoor"}'

Without -d and the plant after it, the same command lists her plants. Try the whole API at ${url}/docs
The token expires in an hour; npx plantstore token --owner alice issues a new one. The log of the service follows.

`;
