import { type Comparison, type Figure, median } from '../compare.ts';
import {
  BARE_IMPORTS,
  FASTIFY_LOGGING,
  GRPC_WORKS,
  INSTANCE_WORKS,
  LOG_WORKS,
  OURS,
  OURS_LOGGING,
  REFUSALS,
  REFUSED,
  REST_WORKS,
  START_WORKS,
} from '../works.ts';

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

/** What CPU of the service and of mongod a request may take beside the cheapest peer with a store. */
const CPU = { [get20]: 0.1, [get1000]: 0.03, [post64]: 0.18, [delete64]: 0.2, [mix]: 0.15 };

/** What this service is to reach beside what a user would pick instead. */
export const GOALS: readonly Goal[] = [
  rate(get20, 0.6, ['bare Fastify']),
  { ...rate(get20, 0.6, ['bare Fastify']), side: OURS_LOGGING },
  { ...rate(get20, 1, [FASTIFY_LOGGING]), side: OURS_LOGGING },
  rate(get20, 12),
  rate(get1000, 60),
  rate(post64, 4.5),
  rate(post64, 80, ['transaction a request']),
  rate(post64, 12, ['emmett + MongoDB']),
  rate(delete64, 4.5),
  { work: post1, figure: 'p50', against: ['Fastify + mongodb'], goal: 0.9 },
  rate(mix, 8),
  ...Object.entries(CPU).map(([work, goal]): Goal => ({ work, figure: 'cpu', against: WITH_STORE, goal })),
  { work: GRPC_WORKS.list, figure: 'service', against: ['bare grpc-js'], goal: 1.25 },
  { work: GRPC_WORKS.list, figure: 'service', against: ["connect-node's gRPC"], goal: 0.2 },
  { work: GRPC_WORKS.list, figure: 'cpu', against: ['Go gRPC'], goal: 0.33 },
  { work: GRPC_WORKS.add, figure: 'service', against: ["connect-node's gRPC"], goal: 0.3 },
  { work: GRPC_WORKS.add, figure: 'cpu', against: ['Go gRPC'], goal: 0.28 },
  rate(LOG_WORKS.commit, 0.85, ['raw driver']),
  rate(LOG_WORKS.replay, 0.8, ['raw driver']),
  // A bad signature cannot reach it: an RSA verification that fails takes jose alone longer than a list takes.
  ...Object.values(REFUSED).map(
    (side): Goal => ({ work: REFUSALS, side, figure: 'service', against: [OURS], goal: 1 }),
  ),
  ...Object.values(START_WORKS).flatMap((work) => [
    { work, figure: 'p50' as const, against: [BARE_IMPORTS], goal: 1.5 },
    { work, figure: 'service' as const, against: [BARE_IMPORTS], goal: 1.5 },
  ]),
  ...beside('2 instances', { rate: 1, cpu: 1.1, p99: 1.5 }),
  ...beside('4 instances', { rate: 0.95, cpu: 1.3, p99: 2 }),
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
