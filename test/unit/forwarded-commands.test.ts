import { expect, test } from 'vitest';
import type { Command } from '../../src/domain/decider.ts';
import { CONTENT_FIELDS } from '../../src/domain/events.ts';
import { commandOf, messageOf } from '../../src/log/forward/messages.ts';

const ABOUT = { number: 1, eventId: 'id', timeLeft: 1_000 };

const TOLD = CONTENT_FIELDS.filter(({ kind, part, of }) => kind === 'text' && part === 'content' && of.length > 1);

test.each(TOLD)('a command that is forwarded keeps its $name', ({ name }) => {
  const command = { type: 'DeletePlant', owner: 'alice', actor: 'alice', id: 7n, [name]: 'told' } as Command;
  expect(commandOf(messageOf(command, ABOUT))).toMatchObject({ [name]: 'told' });
});
