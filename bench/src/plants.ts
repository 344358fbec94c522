import type { MakeRequest } from './load.ts';

/** Headers of a request with a token and, if it has one, a JSON body. */
export const headers = (token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
});

/** The plant that every add has, under some id. */
export const plant = (id: number): string => `{"id":${id},"name":"Monstera","tag":"indoor"}`;

/** What an add is answered with. */
export const ADDED = '{"name":"Monstera","tag":"indoor"}';

/** Adds of ever new ids. */
export function adds(token: string, from = 0): MakeRequest {
  let id = from;
  return () => ({ method: 'POST', path: '/plants', headers: headers(token), body: plant(id++) });
}

/** Lists of all plants. */
export const lists =
  (token: string): MakeRequest =>
  () => ({ method: 'GET', path: '/plants', headers: headers(token) });

/** Adds so many plants one after the other. Throws when one is refused. */
export async function seed(url: string, token: string, plants: number): Promise<void> {
  const add = adds(token);
  for (let added = 0; added < plants; added++) {
    const { path, ...request } = add();
    const reply = await fetch(url + path, request as RequestInit);
    if (!reply.ok) throw new Error(`seed: ${reply.status} ${await reply.text()}`);
    await reply.arrayBuffer();
  }
}
