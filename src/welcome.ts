/** What a newcomer can do first: a curl to paste, with a token of development mode. */
export const welcome = (url: string, token: string): string => `
The plant store runs in development mode. Paste this to add a plant to alice's:

curl ${url}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{"id":7,"name":"Fern","tag":"indoor"}'

The same without -d and the Content-Type lists them. Try all of it at ${url}/docs
The token lasts an hour; npx plantstore token --owner alice makes another. What follows is the service's log.

`;
