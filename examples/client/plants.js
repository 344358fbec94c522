import { PlantAlreadyExistsError, PlantStore } from 'plantstore-client';

const store = new PlantStore({ url: process.env.STORE, token: process.env.TOKEN });

const { position } = await store.add({ id: 9007199254740993n, name: 'Fern' });
console.log('added at position', position);
try {
  await store.add({ id: 9007199254740993n, name: 'Fern' });
} catch (error) {
  if (!(error instanceof PlantAlreadyExistsError)) throw error;
  console.log(error.reason);
}
for await (const { id, name } of store.list()) console.log(id, name);
await store.delete(9007199254740993n);
