/** True in the long runs of `npm run test:soak`: the same suites with bigger counts. */
export const SOAK = process.env.SOAK === 'true';

/** How often to do something: `usual` times, or `soak` times in a long run. */
export const count = (usual: number, soak: number): number => (SOAK ? soak : usual);
