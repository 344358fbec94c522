/** True in the long runs of `npm run test:soak`: the same suites with bigger counts. */
export const SOAK = process.env.SOAK === 'true';

/** A number of repetitions: `usual`, or `soak` in a long run. */
export const count = (usual: number, soak: number): number => (SOAK ? soak : usual);
