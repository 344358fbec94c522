import type { AddressInfo } from 'node:net';
import express from 'express';
import mongoose from 'mongoose';
import { ownerOf } from './verify.ts';

/** CRUD with Express and Mongoose: a model with a unique index, lean lists. */
await mongoose.connect(process.env.MONGODB_URI!, { writeConcern: { w: 'majority' } });
const schema = new mongoose.Schema(
  {
    owner: { type: String, required: true },
    id: { type: Number, required: true },
    name: { type: String, required: true },
    tag: String,
  },
  { id: false, versionKey: false },
);
schema.index({ owner: 1, id: 1 }, { unique: true });
const Plant = mongoose.model('Plant', schema);
await Plant.init();

const app = express();
app.use(express.json());
app.use(async (request, response, next) => {
  response.locals.owner = await ownerOf(request.headers.authorization);
  next();
});

app.post('/plants', async (request, response) => {
  const { id, name, tag } = request.body;
  await Plant.create({ owner: response.locals.owner, id, name, tag });
  response.json({ name, tag });
});

app.get('/plants', async (request, response) => {
  const plants = Plant.find({ owner: response.locals.owner }, { _id: 0, name: 1, tag: 1 }).sort({ id: 1 });
  response.json(await plants.limit(Number(request.query.limit ?? 0)).lean());
});

app.delete('/plants/:id', async (request, response) => {
  const { deletedCount } = await Plant.deleteOne({ owner: response.locals.owner, id: Number(request.params.id) });
  response.status(deletedCount === 1 ? 204 : 404).end();
});

const server = app.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.on('SIGTERM', async () => {
  server.close();
  server.closeAllConnections();
  await mongoose.disconnect();
});
