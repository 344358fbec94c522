import { openMongo } from '../../src/log/mongo/store.ts';
import { NodeBuilder } from '../../src/log/tree/nodes.ts';
import { changesOf } from '../../src/log/view/projector.ts';
import { readLog } from './fold.ts';

/**
 * An instance in its own process, to be killed or frozen. Takes the projector's lease for `milliseconds`, prints
 * "leased", projects to the end of the log in one step, and prints the result.
 */
const [uri, milliseconds] = process.argv.slice(2) as [string, string];
const store = await openMongo(uri);
const from = await store.checkpoint();
const events = (await readLog(store)).slice(from);
const nodes = (await NodeBuilder.after(store, from)).add(events);
if (!(await store.lease('projector', 'child', Number(milliseconds)))) throw new Error('another has the lease');
console.log('leased');
const outcome = await store.advance(from, from + events.length, changesOf(events), nodes).catch(() => 'rejected');
console.log(`${outcome}`);
await store.close();
