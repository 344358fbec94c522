import Fastify from 'fastify';

/** The limit: a bare Fastify that replies the bytes it was given, without authentication or a store. */
const [list, added] = [process.env.LIST ?? '', process.env.ADDED ?? ''];
const app = Fastify();
app.get('/plants', (_, reply) => reply.type('application/json; charset=utf-8').send(list));
app.post('/plants', (_, reply) =>
  reply.type('application/json; charset=utf-8').header('plantstore-position', '123456').send(added),
);
process.on('SIGTERM', () => app.close());
console.log(await app.listen({ port: 0 }));
