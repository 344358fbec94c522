import { expect, test } from 'vitest';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import type { Answers } from '../../src/log/forward/hop.ts';
import { Receiver } from '../../src/log/forward/receiver.ts';
import { Follower } from '../../src/log/tail/follower.ts';
import { Tail } from '../../src/log/tail/tail.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';

const COMMAND = { type: 'DeletePlant', owner: 'alice', actor: 'alice', id: 1n } as const;
const forwarded = (number: number) => ({ number, command: COMMAND, eventId: `event ${number}`, timeLeft: 1_000 });

test('a writer that hands on says so at once, so that the others keep their commands, and gives back what still comes', async () => {
  const { store } = await openMemoryStore();
  const follower = new Follower(store, new Tail(EMPTY_HEAD));
  const answer = Promise.withResolvers<never>();
  const receiver = new Receiver({ follower, submit: () => answer.promise, observer: undefined, onFault: () => {} });
  receiver.open('secret');
  expect(receiver.admits('secret')).toBe(true);
  const said: Answers[] = [];
  const first = Promise.withResolvers<void>();
  const say = (answers: Answers) => {
    said.push(answers);
    first.resolve();
  };
  let ended = 0;
  const reception = receiver.begin(say, () => ended++);
  await first.promise;
  reception.receive({ after: 0, commands: [forwarded(1)] });
  expect(said).toEqual([{ position: 0, outcomes: [], leaving: false }]);
  const closed = receiver.close();
  expect(receiver.admits('secret')).toBe(false);
  // Before any command is answered.
  expect(said.at(-1)).toEqual({ position: 0, outcomes: [], leaving: true });
  reception.receive({ after: 0, commands: [forwarded(2)] });
  answer.reject(new Error('refused'));
  await closed;
  expect(ended).toBe(1);
  expect(said.flatMap(({ outcomes }) => outcomes)).toMatchObject([
    { kind: 'returned', number: 2 },
    { kind: 'refused', number: 1 },
  ]);
  expect(said.slice(1).every(({ leaving }) => leaving)).toBe(true);
});
