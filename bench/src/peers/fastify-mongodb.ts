import Fastify from 'fastify';
import { type Filter, Long, MongoClient } from 'mongodb';
import { ownerOf } from './verify.ts';

/** CRUD with Fastify and the driver: a document for each plant, written with w: majority. */
interface PlantDocument {
  owner: string;
  id: Long;
  name: string;
  tag?: string;
}

const client = await new MongoClient(process.env.MONGODB_URI!, { writeConcern: { w: 'majority' } }).connect();
const plants = client.db().collection<PlantDocument>('plants');
await plants.createIndex({ owner: 1, id: 1 }, { unique: true });

const app = Fastify();
app.decorateRequest('owner', '');
app.addHook('onRequest', async (request) => {
  request.setDecorator('owner', await ownerOf(request.headers.authorization));
});

app.post<{ Body: { id: number; name: string; tag?: string } }>('/plants', async (request) => {
  const { id, name, tag } = request.body;
  await plants.insertOne({ owner: request.getDecorator('owner'), id: Long.fromNumber(id), name, ...(tag && { tag }) });
  return { name, tag };
});

app.get<{ Querystring: { limit?: string } }>('/plants', async (request) => {
  const filter: Filter<PlantDocument> = { owner: request.getDecorator<string>('owner') };
  const cursor = plants.find(filter, { projection: { _id: 0, name: 1, tag: 1 } }).sort({ id: 1 });
  return cursor.limit(Number(request.query.limit ?? 0)).toArray();
});

app.delete<{ Params: { id: string } }>('/plants/:id', async (request, reply) => {
  const id = Long.fromString(request.params.id);
  const { deletedCount } = await plants.deleteOne({ owner: request.getDecorator<string>('owner'), id });
  return reply.code(deletedCount === 1 ? 204 : 404).send();
});

process.on('SIGTERM', async () => {
  await app.close();
  await client.close();
});
console.log(await app.listen({ port: 0 }));
