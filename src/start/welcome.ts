/**
 * The first steps for a newcomer, with a token of development mode: a link to the console, and a curl command. The link
 * has the token in its fragment, which browsers do not send.
 */
export const welcome = (url: string, token: string): string => `
The plant store runs in development mode. This opens the console, signed in as alice:

${url}/console#token=${token}

Or run this to add a plant of alice:

curl ${url}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{"id":7,"name":"Fern","tag":"indoor"}'

Without -d and the Content-Type, the same command lists her plants. Try the whole API at ${url}/docs
The token expires in an hour; npx plantstore token --owner alice issues a new one. The log of the service follows.

`;
