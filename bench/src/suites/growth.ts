import { type Comparison, compare, type Effort, type Figure, median } from '../compare.ts';
import { GrowthSide, growthWorks, type Size, STORES, type Store, sizeName } from '../growth-side.ts';
import type { LineChart } from '../report/line-chart.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { Scene } from '../scene.ts';

const OWNERS = 1_000;
/** Lengths of logs; the last ones as far as the effort says. */
const LENGTHS = [1_000, 100_000, 1_000_000, 10_000_000];
/** The longest log that is also made with one owner, and with an owner for each event. */
const MOST_OWNERS = 1_000_000;

/** How the start, lists, adds and memory depend on the length of the log and on how many owners there are. */
export async function growth(bench: Bench, effort: Effort): Promise<Results> {
  const scene = await Scene.open(bench);
  const lengths = LENGTHS.filter((events) => events <= effort.events);
  const length = Math.min(effort.events, MOST_OWNERS);
  const byLength = lengths.map((events): Size => ({ events, owners: OWNERS }));
  const byOwners = [1, OWNERS, length].map((owners): Size => ({ events: length, owners }));
  const sizes = [...byLength, ...byOwners.filter(({ owners }) => owners !== OWNERS)];

  let comparison: Comparison = {};
  const memory = new Map<string, number>();
  for (const store of STORES) {
    const sides: GrowthSide[] = [];
    for (const size of sizes) sides.push(await GrowthSide.open(bench, scene, store, size));
    comparison = { ...comparison, ...(await compare(Object.values(growthWorks(store)), sides, effort)) };
    for (const side of sides) memory.set(`${store}, ${side.name}`, side.resident() / 2 ** 20);
    for (const side of sides) await side.stop();
  }
  console.log('\nResident memory at the end, MiB');
  for (const [name, mebibytes] of memory) console.log(`  ${name.padEnd(48)}${mebibytes.toFixed(0).padStart(8)}`);

  const chart = (title: string, along: 'events' | 'owners', read: (store: Store, size: Size) => number): LineChart => ({
    title: `${title} by ${along}`,
    x: along === 'events' ? `events in the log, of ${OWNERS} owners` : `owners of the ${length} events`,
    series: STORES.map((store) => ({
      name: store,
      points: (along === 'events' ? byLength : byOwners).map((size) => [size[along], read(store, size)] as const),
    })),
  });
  const of = (work: keyof ReturnType<typeof growthWorks>, figure: Figure) => (store: Store, size: Size) =>
    median(comparison[growthWorks(store)[work]]![sizeName(size)]!.map((window) => window[figure]));
  return {
    comparison,
    charts: (['events', 'owners'] as const).flatMap((along) => [
      chart('Adds a second', along, of('adds', 'rate')),
      chart('Lists of 20 a second', along, of('lists', 'rate')),
      chart('Milliseconds from spawn to ready', along, of('start', 'p50')),
      chart('Resident memory, MiB', along, (store, size) => memory.get(`${store}, ${sizeName(size)}`)!),
    ]),
  };
}
