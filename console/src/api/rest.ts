import { refused, session } from '../session.ts';
import { Refused } from './trouble.ts';

/** Calls the service with the token. Rejects with Refused for any unsuccessful answer. */
export async function call(path: string, init: RequestInit = {}): Promise<Response> {
  const token = session.peek()?.token;
  const headers = new Headers(init.headers);
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  const response = await fetch(path, { ...init, headers, cache: 'no-store' });
  if (response.ok) return response;
  const message = await response.json().then(
    (body) => String(body.message),
    () => `the service answered with ${response.status}`,
  );
  if (response.status === 401) refused(token, message);
  throw new Refused(response.status, message);
}
