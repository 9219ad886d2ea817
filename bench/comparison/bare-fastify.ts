// The denominator of the hot path: Fastify with one route and nothing else. Prints its URL.
import Fastify from 'fastify';

const app = Fastify();
app.get('/', async () => ({ status: 'live' }));
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`);
