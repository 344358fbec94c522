import { PlantStore } from 'plantstore-client';

const store = new PlantStore({ url: process.env.STORE, token: process.env.TOKEN });

const plants = new Map();
const onDisconnect = (error) => console.error('not live:', error.message);
for await (const change of store.watch({ onDisconnect })) {
  if (change.type === 'reset') plants.clear();
  if (change.type === 'added') plants.set(change.plant.id, change.plant);
  if (change.type === 'deleted') plants.delete(change.id);
  console.log(change.type, change.plant?.id ?? change.id ?? '', plants.size);
}
