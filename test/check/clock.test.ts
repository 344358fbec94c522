import { expect, test } from 'vitest';
import { readSources } from '../support/source.ts';

/**
 * Who may ask what time of day it is, and why. All else measures how long something takes or lasts, by a monotonic
 * clock and timers, which nobody sets.
 */
const ASKS_THE_TIME: Readonly<Record<string, string>> = {
  'src/cli/doctor/files.ts': 'a certificate says when it ends',
  'src/log/mongo/read-model/changes.ts': 'a generation above all earlier ones, whose number is lost',
  'src/auth/development.ts': 'a token says when it ends',
  'src/auth/validity.ts': 'a token says when it ends',
  'src/auth/verifier.ts': 'a token says when it was issued',
  'src/log/commit/committer.ts': 'an event says when it happened',
  'src/log/upgrade.ts': 'an event says when it happened',
  'src/log/sqlite/read-model/read-model.ts': 'a generation above all earlier ones, whose number is lost',
  'src/log/sqlite/store.ts': 'a lease is shared by processes, which have no other clock in common',
  'src/observe/health.ts': 'a state says since when',
  'src/start/gauges.ts': 'the time of an event is compared with it',
  'src/publisher/status.ts': 'the age of an event is told by its time',
  'src/tlog/signer.ts': 'a cosignature says when it was made',
  'src/time/host.ts': 'the machine itself: what asks it is in this list too',
  'src/transport/grpc/served-call.ts': 'grpc-js gives the deadline of a call as a time of day',
};

test('nothing but what is a time of day is measured by the clock that can be set', () => {
  const asking = readSources().filter(({ text }) => /\bDate\.now\b|\bnew Date\(\)|\bwallTime\(\)/.test(text));
  expect(asking.map(({ path }) => path).toSorted()).toEqual(Object.keys(ASKS_THE_TIME).toSorted());
});
