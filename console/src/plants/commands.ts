import { call } from '../api/rest.ts';

/** The fields of the form for a new plant. */
export interface Draft {
  readonly id: string;
  readonly name: string;
  readonly tag: string;
}

/** A draft as JSON for the service. An id that is not an integer is sent as text, so that the service names the error. */
function bodyOf({ id, name, tag }: Draft): string {
  const digits = id.trim();
  const fields = [
    ...(digits === '' ? [] : [`"id":${/^-?(0|[1-9]\d*)$/.test(digits) ? digits : JSON.stringify(digits)}`]),
    `"name":${JSON.stringify(name)}`,
    ...(tag === '' ? [] : [`"tag":${JSON.stringify(tag)}`]),
  ];
  return `{${fields.join(',')}}`;
}

/** An idempotency key, so that a retried request is done once. */
export const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Adds a plant, and returns the position of its event. */
export async function addPlant(draft: Draft, key: string): Promise<string> {
  const response = await call('/plants', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: bodyOf(draft),
  });
  return response.headers.get('plantstore-position')!;
}

/** Deletes a plant, and returns the position of its event. */
export async function deletePlant(id: bigint, key: string): Promise<string> {
  const response = await call(`/plants/${id}`, { method: 'DELETE', headers: { 'idempotency-key': key } });
  return response.headers.get('plantstore-position')!;
}
