import { type Comparison, type Figure, median } from '../compare.ts';
import { GRPC_WORKS, INSTANCE_WORKS, LOG_WORKS, OURS, REST_WORKS } from '../works.ts';

/** A goal: a ratio of our side to the best of some others in the same round. */
export interface Goal {
  readonly work: string;
  /** The side whose goal it is; ours unless it says otherwise. */
  readonly side?: string;
  readonly figure: Figure;
  readonly against: readonly string[];
  /** The least that the ratio should be for a rate, the most for a time or a cost. */
  readonly goal: number;
}

/** A goal and how it went: undefined where nothing was measured against. */
export interface Judged extends Goal {
  readonly value: number | undefined;
  readonly met: boolean | undefined;
}

const { get20, get1000, post64, delete64, post1, mix } = REST_WORKS;
const CRUD = ['Fastify + mongodb', 'Express + Mongoose', 'Go grpc-gateway'];
const WITH_STORE = [...CRUD, 'emmett + MongoDB', 'transaction a request'];

const rate = (work: string, goal: number, against: readonly string[] = CRUD): Goal => ({
  work,
  figure: 'rate',
  against,
  goal,
});

/** What several instances are to reach beside one. */
const beside = (side: string, goals: Partial<Record<Figure, number>>): Goal[] =>
  Object.entries(goals).map(([figure, goal]) => ({
    work: INSTANCE_WORKS.adds,
    side,
    figure: figure as Figure,
    against: ['1 instance'],
    goal,
  }));

/** What this service is to reach beside what a user would pick instead. */
export const GOALS: readonly Goal[] = [
  rate(get20, 0.7, ['bare Fastify']),
  rate(get20, 6),
  rate(get1000, 10),
  rate(post64, 3),
  rate(post64, 20, ['transaction a request']),
  rate(post64, 8, ['emmett + MongoDB']),
  rate(delete64, 3),
  { work: post1, figure: 'p50', against: ['Fastify + mongodb'], goal: 1.2 },
  rate(mix, 4),
  ...[get20, get1000, post64, delete64, mix].map(
    (work): Goal => ({ work, figure: 'cpu', against: WITH_STORE, goal: 0.33 }),
  ),
  { work: GRPC_WORKS.list, figure: 'service', against: ["connect-node's gRPC"], goal: 0.25 },
  { work: GRPC_WORKS.list, figure: 'service', against: ['bare grpc-js'], goal: 1.4 },
  { work: GRPC_WORKS.list, figure: 'cpu', against: ['Go gRPC'], goal: 0.33 },
  { work: GRPC_WORKS.add, figure: 'cpu', against: ['Go gRPC'], goal: 0.33 },
  rate(LOG_WORKS.commit, 0.8, ['raw driver']),
  rate(LOG_WORKS.replay, 0.6, ['raw driver']),
  ...beside('2 instances', { rate: 0.95, cpu: 1.2, p99: 1.5 }),
  ...beside('4 instances', { rate: 0.9, cpu: 1.3, p99: 2 }),
  { work: INSTANCE_WORKS.add, side: 'at another instance', figure: 'p50', against: ['at the writer'], goal: 1.6 },
];

/** Judges the goals of the works that were measured. */
export const judge = (comparison: Comparison): Judged[] =>
  GOALS.filter(({ work, side = OURS }) => comparison[work]?.[side] !== undefined).map((goal) => {
    const value = ratio(comparison, goal);
    return { ...goal, value, met: value === undefined ? undefined : isMet(goal, value) };
  });

const isMet = ({ figure, goal }: Goal, value: number): boolean => (figure === 'rate' ? value >= goal : value <= goal);

/** The median over the rounds of our figure over the best of the others' in that round. */
function ratio(comparison: Comparison, { work, side = OURS, figure, against }: Goal): number | undefined {
  const { [side]: ours = [], ...all } = comparison[work] ?? {};
  const others = against.flatMap((name) => (all[name] === undefined ? [] : [all[name]]));
  if (others.length === 0) return undefined;
  const best = figure === 'rate' ? Math.max : Math.min;
  return median(ours.map((window, round) => window[figure] / best(...others.map((other) => other[round]![figure]))));
}
