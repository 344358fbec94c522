import { openMongo } from '../../src/log/mongo/open.ts';
import { changesOf } from '../../src/log/view/projector.ts';
import { readLog } from './fold.ts';

/**
 * An instance in a process of its own, to be killed or frozen: leases the projector's work for `milliseconds`, says "leased",
 * takes one step to the end of the log, and says how that went.
 */
const [uri, milliseconds] = process.argv.slice(2) as [string, string];
const store = await openMongo(uri);
const from = await store.checkpoint();
const events = (await readLog(store)).slice(from);
if (!(await store.lease('projector', 'child', Number(milliseconds)))) throw new Error('another has the lease');
console.log('leased');
const outcome = await store.advance(from, from + events.length, changesOf(events)).catch(() => 'rejected');
console.log(`${outcome}`);
await store.close();
