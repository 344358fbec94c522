import Fastify from 'fastify';
import { listOf } from '../plants.ts';

/**
 * The limit: a bare Fastify that replies the same bytes from memory, without authentication or a store. With LOGS, it
 * writes its own log to stdout.
 */
const [short, long] = [20, 1_000].map((plants) => JSON.stringify(listOf(plants)));
const ownerOfLong = `Bearer ${process.env.TOKEN_OF_LONG}`;
const app = Fastify({ logger: process.env.LOGS === 'true' });
app.get('/plants', (request, reply) =>
  reply.type('application/json; charset=utf-8').send(request.headers.authorization === ownerOfLong ? long : short),
);
app.post<{ Body: { name: string; tag: string } }>('/plants', ({ body: { name, tag } }, reply) =>
  reply
    .type('application/json; charset=utf-8')
    .header('plantstore-position', '123456')
    .send(JSON.stringify({ name, tag })),
);
app.delete('/plants/:id', (_, reply) => reply.code(204).header('plantstore-position', '123456').send());
process.on('SIGTERM', () => app.close());
console.log(await app.listen({ port: 0 }));
