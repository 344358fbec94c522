import type { Question } from '../../../src/audit/checks/check.ts';
import { hashOf, headAt, seal } from '../../../src/log/event/chain.ts';
import { encodeContent, encodeEvent } from '../../../src/log/event/encode.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent, plantEventOf } from '../../../src/log/event/event.ts';
import { nodesOf } from '../../../src/log/tree/nodes.ts';
import { commitmentOf } from '../../support/events.ts';
import type { Random } from '../machine/random.ts';
import type { State } from './state.ts';

/** One way to tamper with a database. */
interface Damage {
  /** The question of `audit verify` whose answer must be no. */
  readonly found: Question;
  /** Whether `audit rebuild` mends it. */
  readonly isMended: boolean;
  /** What is changed. Undefined: this state has nothing of the kind. */
  readonly change: (state: State, random: Random) => Partial<State> | undefined;
}

/** Changes one event of those that are suitable. */
const changed =
  (isSuitable: (event: LoggedEvent) => boolean, change: (event: LoggedEvent) => Partial<LoggedEvent>) =>
  ({ events }: State, random: Random): Partial<State> | undefined => {
    const suitable = events.filter(isSuitable);
    if (suitable.length === 0) return undefined;
    const one = random.one(suitable);
    return { events: events.map((event) => (event === one ? encoded({ ...event, ...change(event) }) : event)) };
  };

/** The event with the bytes that its members have. */
const encoded = (logged: LoggedEvent): LoggedEvent => ({
  ...logged,
  bytes: encodeEvent({ ...logged, ...(logged.event === undefined && { event: undefined }) }),
  content: logged.event && logged.salt && encodeContent(logged.event, logged.salt),
});

/** Some bytes, with one bit of one of them changed. */
function flipped(bytes: Uint8Array, index = 3): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[index]! ^= 4;
  return copy;
}

const isAdded = (event: LoggedEvent): boolean => plantEventOf(event)?.type === 'PlantAdded';

const renamed = ({ event }: LoggedEvent): Partial<LoggedEvent> => ({
  event: event?.type === 'PlantAdded' ? { ...event, name: `${event.name}!` } : event,
});

const ofEvent = (found: Question, change: Damage['change']): Damage => ({ found, isMended: false, change });
const ofRows = (change: Damage['change']): Damage => ({ found: 'read_model', isMended: true, change });
const ofNodes = (change: Damage['change']): Damage => ({ found: 'tree', isMended: true, change });

/** Every way, by name. */
export const DAMAGES = {
  'a content is changed': ofEvent('contents', changed(isAdded, renamed)),
  'a salt is changed': ofEvent(
    'contents',
    changed(
      ({ salt }) => salt !== undefined,
      ({ salt }) => ({ salt: flipped(salt!) }),
    ),
  ),
  'a content is lost': ofEvent(
    'contents',
    changed(isAdded, ({ position }) => ({
      event: undefined,
      salt: undefined,
      content: undefined,
      erasedBy: position + 1,
    })),
  ),
  'a time is changed': ofEvent(
    'chain',
    changed(
      () => true,
      ({ time }) => ({ time: time + 1 }),
    ),
  ),
  'a hash is changed': ofEvent(
    'chain',
    changed(
      () => true,
      ({ hash }) => ({ hash: flipped(hash) }),
    ),
  ),
  'an event is lost': ofEvent('positions', ({ events }, random) =>
    events.length === 0 ? undefined : { events: events.toSpliced(random.whole(0, events.length - 1), 1) },
  ),
  'the last events are lost': ofEvent('positions', ({ events }, random) =>
    events.length === 0 ? undefined : { events: events.slice(0, -random.whole(1, Math.min(events.length, 9))) },
  ),
  'an event is written that no command makes': ofEvent('decisions', ({ events, rows }) => {
    const absent = [0n, 1n, 2n, 3n, 4n].find((id) => ![...rows.values()].some((row) => row.id === id));
    const last = events.at(-1);
    if (absent === undefined || last === undefined) return undefined;
    const event = { type: 'PlantDeleted', owner: 'ann', actor: 'mallory', plantId: absent } as const;
    return {
      events: [
        ...events,
        seal(headAt(last), event, '00000000-0000-4000-8000-0000000000ff', last.time, new Uint8Array(16)),
      ],
    };
  }),
  'the log is written anew': ofEvent('checkpoint', ({ events }, random) => {
    if (!events.some(isAdded)) return undefined;
    const one = random.one(events.filter(isAdded));
    return { events: rewritten(events, one) };
  }),
  'a row is lost': ofRows(({ rows }, random) => {
    if (rows.size === 0) return undefined;
    const left = new Map(rows);
    left.delete(random.one([...rows.keys()]));
    return { rows: left };
  }),
  'a row is changed': ofRows(({ rows }, random) => {
    if (rows.size === 0) return undefined;
    const [key, row] = random.one([...rows]);
    return { rows: new Map(rows).set(key, { ...row, name: `${row.name}!` }) };
  }),
  'a row is written': ofRows(({ rows }) => ({
    rows: new Map(rows).set('7:mallory', { owner: 'mallory', id: 7n, name: 'weed', tag: undefined }),
  })),
  'the checkpoint is set back': ofRows(({ events, checkpoint }) => {
    const last = events.at(-1);
    if (checkpoint === undefined || last?.position !== checkpoint || plantEventOf(last) === undefined) return undefined;
    return { checkpoint: checkpoint - 1 };
  }),
  'the checkpoint is lost': ofRows(() => ({ checkpoint: undefined, upTo: 0 })),
  'a node is cut short': ofNodes(({ nodes }, random) => {
    if (nodes.size === 0) return undefined;
    const [key, node] = random.one([...nodes]);
    return { nodes: new Map(nodes).set(key, node.subarray(1)) };
  }),
  'a node is of no events': ofNodes(({ events, nodes }) => ({
    nodes: new Map(nodes).set(nodesOf(events.at(-1)?.position ?? 0), new Uint8Array(32)),
  })),
  'a node is changed': ofNodes(({ nodes }, random) => {
    if (nodes.size === 0) return undefined;
    const [key, node] = random.one([...nodes]);
    return { nodes: new Map(nodes).set(key, flipped(node)) };
  }),
  // The last one may not have been built yet.
  'a node is lost': ofNodes(({ nodes }) => {
    if (nodes.size < 2) return undefined;
    const left = new Map(nodes);
    left.delete(Math.min(...nodes.keys()));
    return { nodes: left };
  }),
} as const satisfies Readonly<Record<string, Damage>>;

/** The name of a way to tamper with a database. */
export type DamageName = keyof typeof DAMAGES;

/** A log in which one event has another content, with every hash from there on made anew. */
function rewritten(events: readonly LoggedEvent[], one: LoggedEvent): LoggedEvent[] {
  let head: Head = EMPTY_HEAD;
  return events.map((logged) => {
    const other = logged === one ? { ...logged, ...renamed(logged) } : logged;
    const commitment = logged === one ? commitmentOf(other.event!, other.salt!) : logged.commitment;
    const changed = encoded({ ...other, commitment });
    const next = { ...changed, hash: hashOf(head.hash, changed) };
    head = headAt(next);
    return next;
  });
}
