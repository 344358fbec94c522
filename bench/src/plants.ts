import type { HttpRequest } from './load/job.ts';

/** The first id of every owner's plants; with those after it, it has ten digits. */
export const FIRST_ID = 1_000_000_000;

/** The plant that is added under an id. */
export const newPlant = (id: number) => ({ id: BigInt(id), name: `Plant ${id}`, tag: 'indoor' });

/** The first plants of an owner, as lists show them. */
export const listOf = (count: number): { name: string; tag: string }[] =>
  Array.from({ length: count }, (_, index) => ({ name: `Plant ${FIRST_ID + index}`, tag: 'indoor' }));

/** Lists, with the plants that must come back. */
export const listRequest = (path: string, plants: number): HttpRequest => ({
  method: 'GET',
  path,
  status: 200,
  reply: JSON.stringify(listOf(plants)),
});

/** Adds of ever new ids. */
export const ADD: HttpRequest = {
  method: 'POST',
  path: '/plants',
  body: '{"id":{id},"name":"Plant {id}","tag":"indoor"}',
  status: 200,
  reply: '{"name":"Plant {id}","tag":"indoor"}',
};

/** Deletes. */
export const DELETE: HttpRequest = { method: 'DELETE', path: '/plants/{id}', status: 204, reply: '' };
