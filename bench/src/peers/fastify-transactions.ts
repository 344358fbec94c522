import Fastify from 'fastify';
import { Long, MongoClient } from 'mongodb';
import { ownerOf } from './verify.ts';

/**
 * Event sourcing on MongoDB as it is usually done by hand: each request is a transaction that takes the next position
 * from a counter document, inserts the event under it, and changes the read model.
 */
const client = await new MongoClient(process.env.MONGODB_URI!, { writeConcern: { w: 'majority' } }).connect();
const db = client.db();
const counters = db.collection<{ _id: string; value: number }>('counters');
const events = db.collection<{ _id: number }>('events');
const plants = db.collection('plants');
await plants.createIndex({ owner: 1, id: 1 }, { unique: true });
await counters.updateOne({ _id: 'events' }, { $setOnInsert: { value: 0 } }, { upsert: true });

const app = Fastify();
app.decorateRequest('owner', '');
app.addHook('onRequest', async (request) => {
  request.setDecorator('owner', await ownerOf(request.headers.authorization));
});

app.post<{ Body: { id: number; name: string; tag?: string } }>('/plants', async (request) => {
  const { id, name, tag } = request.body;
  const plant = { owner: request.getDecorator<string>('owner'), id: Long.fromNumber(id), name, tag };
  await client.withSession((session) =>
    session.withTransaction(async () => {
      const counter = await counters.findOneAndUpdate(
        { _id: 'events' },
        { $inc: { value: 1 } },
        { session, returnDocument: 'after' },
      );
      await events.insertOne({ _id: counter!.value, type: 'PlantAdded', time: new Date(), ...plant } as never, {
        session,
      });
      await plants.insertOne({ ...plant }, { session });
    }),
  );
  return { name, tag };
});

app.get<{ Querystring: { limit?: string } }>('/plants', async (request) => {
  const owner = request.getDecorator<string>('owner');
  const cursor = plants.find({ owner }, { projection: { _id: 0, name: 1, tag: 1 } }).sort({ id: 1 });
  return cursor.limit(Number(request.query.limit ?? 0)).toArray();
});

app.delete<{ Params: { id: string } }>('/plants/:id', async (request, reply) => {
  const key = { owner: request.getDecorator<string>('owner'), id: Long.fromString(request.params.id) };
  const found = await client.withSession((session) =>
    session.withTransaction(async () => {
      const counter = await counters.findOneAndUpdate(
        { _id: 'events' },
        { $inc: { value: 1 } },
        { session, returnDocument: 'after' },
      );
      const { deletedCount } = await plants.deleteOne(key, { session });
      if (deletedCount === 0) return false;
      await events.insertOne({ _id: counter!.value, type: 'PlantDeleted', time: new Date(), ...key } as never, {
        session,
      });
      return true;
    }),
  );
  return reply.code(found ? 204 : 404).send();
});

process.on('SIGTERM', async () => {
  await app.close();
  await client.close();
});
console.log(await app.listen({ port: 0 }));
