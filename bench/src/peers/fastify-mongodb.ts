import Fastify from 'fastify';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { Long, MongoClient } from 'mongodb';

/** What a user would write instead: Fastify, one insertOne for each request (w: majority, journaled), the token verified each time. */
const keys = createLocalJWKSet(JSON.parse(process.env.JWKS!));
const client = await new MongoClient(process.env.MONGODB_URI!).connect();
const plants = client.db().collection('peer_plants', { writeConcern: { w: 'majority', journal: true } });
await plants.createIndex({ owner: 1, id: 1 }, { unique: true });
const app = Fastify();
app.post<{ Body: { id: number; name: string; tag?: string } }>('/plants', async (request) => {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
  const { payload } = await jwtVerify(token, keys, { issuer: process.env.ISSUER!, audience: process.env.ISSUER! });
  const { id, name, tag } = request.body;
  await plants.insertOne({ owner: payload.sub, id: Long.fromNumber(id), name, tag });
  return { name, tag };
});
process.on('SIGTERM', async () => {
  await app.close();
  await client.close();
});
console.log(await app.listen({ port: 0 }));
