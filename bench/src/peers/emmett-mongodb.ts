import { CommandHandler, type Event, IllegalStateError } from '@event-driven-io/emmett';
import { getMongoDBEventStore, mongoDBInlineProjection, toStreamName } from '@event-driven-io/emmett-mongodb';
import Fastify from 'fastify';
import { MongoClient } from 'mongodb';
import { ownerOf } from './verify.ts';

/**
 * Event sourcing with emmett: a stream for each plant, decided by a command handler, with an inline projection for the
 * lists.
 */
type PlantAdded = Event<'PlantAdded', { owner: string; id: number; name: string; tag?: string }>;
type PlantDeleted = Event<'PlantDeleted', { owner: string; id: number }>;
type PlantEvent = PlantAdded | PlantDeleted;
type Plant = PlantAdded['data'];

const STREAM = 'plant';
const evolve = (_: Plant | null, { type, data }: PlantEvent): Plant | null => (type === 'PlantAdded' ? data : null);
const projection = mongoDBInlineProjection<Plant, PlantEvent>({ canHandle: ['PlantAdded', 'PlantDeleted'], evolve });

const client = await new MongoClient(process.env.MONGODB_URI!, { writeConcern: { w: 'majority' } }).connect();
const store = getMongoDBEventStore({ client, projections: [{ type: 'inline', projection }] });
const streams = await store.collectionFor(STREAM);
await streams.createIndex({ 'projections._default.owner': 1, 'projections._default.id': 1 });

interface State {
  readonly plant: Plant | null;
}
const handle = CommandHandler<State, PlantEvent>({
  evolve: ({ plant }, event) => ({ plant: evolve(plant, event) }),
  initialState: () => ({ plant: null }),
});
const streamOf = (owner: string, id: number) => toStreamName(STREAM, `${owner}-${id}`);

const app = Fastify();
app.decorateRequest('owner', '');
app.addHook('onRequest', async (request) => {
  request.setDecorator('owner', await ownerOf(request.headers.authorization));
});

app.post<{ Body: { id: number; name: string; tag?: string } }>('/plants', async (request) => {
  const { id, name, tag } = request.body;
  const owner = request.getDecorator<string>('owner');
  await handle(store, streamOf(owner, id), ({ plant }) => {
    if (plant !== null) throw new IllegalStateError(`plant ${id} exists`);
    return { type: 'PlantAdded', data: { owner, id, name, ...(tag && { tag }) } };
  });
  return { name, tag };
});

app.get<{ Querystring: { limit?: string } }>('/plants', async (request) => {
  const owner = request.getDecorator<string>('owner');
  const options = { sort: { id: 1 }, limit: Number(request.query.limit ?? 0) } as const;
  const plants = await store.projections.inline.find<Plant>({ streamType: STREAM }, { owner }, options);
  return plants.map(({ name, tag }) => ({ name, tag }));
});

app.delete<{ Params: { id: string } }>('/plants/:id', async (request, reply) => {
  const owner = request.getDecorator<string>('owner');
  const id = Number(request.params.id);
  await handle(store, streamOf(owner, id), ({ plant }) => {
    if (plant === null) throw new IllegalStateError(`there is no plant ${id}`);
    return { type: 'PlantDeleted', data: { owner, id } };
  });
  return reply.code(204).send();
});

process.on('SIGTERM', async () => {
  await app.close();
  await client.close();
});
console.log(await app.listen({ port: 0 }));
