// The floor of a start: a process that imports what every server here would and does nothing with it. Plain JavaScript,
// so that not even types are stripped.
import 'fastify';
import '@grpc/grpc-js';

const staying = setInterval(() => {}, 60_000);
// Only an orderly end writes the cache of compiled code.
process.on('SIGTERM', () => clearInterval(staying));
console.log('imported');
