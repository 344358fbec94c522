import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import { type EventMessage, eventMessage, messageOfErased } from '../../src/publisher/message.ts';
import { loggedArbitrary } from '../support/arbitraries.ts';
import { added, chain } from '../support/events.ts';

const erased = (logged: LoggedEvent): LoggedEvent =>
  logged.type === 'OwnerErased'
    ? { ...logged, erases: undefined }
    : { ...logged, content: undefined, event: undefined, salt: undefined, erasedBy: logged.position + 1 };

test('the message of an event that is erased since is known from what was published', () => {
  const erases = { owner: 'alice/é %', key: new Uint8Array(16), isCleared: false, isPublished: false };
  fc.assert(
    fc.property(loggedArbitrary, (logged) => {
      const published = eventMessage(logged.type === 'OwnerErased' ? { ...logged, erases } : logged);
      fc.pre(published !== undefined);
      expect(messageOfErased(erased(logged), published!)).toEqual(published);
    }),
  );
});

const [logged] = chain(EMPTY_HEAD, [
  { ...added('alice', 7n, 'Fern', 'indoor'), issuer: 'https://issuer.example', idempotencyKey: 'key 1' },
]);
const published = eventMessage(logged!)!;
const data = JSON.parse(published.value);
const withHeader = (name: string, value: string): EventMessage => ({
  ...published,
  headers: { ...published.headers, [name]: value },
});

test.each<[string, EventMessage]>([
  ['another owner', { ...published, key: 'bob/7' }],
  ['another plant', { ...published, key: 'alice/8' }],
  ['another name', { ...published, value: JSON.stringify({ ...data, name: 'Rose' }) }],
  ['no tag', { ...published, value: JSON.stringify({ ...data, tag: undefined }) }],
  ['another actor', { ...published, value: JSON.stringify({ ...data, actor: 'bob' }) }],
  ['a name that is no text', { ...published, value: JSON.stringify({ ...data, name: 5 }) }],
  ['another issuer', withHeader('plantstore-issuer', 'https://other.example')],
  ['another idempotency key', withHeader('plantstore-idempotency-key', 'key 2')],
  ['a trace', withHeader('traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')],
  ['another salt', withHeader('plantstore-salt', '00'.repeat(16))],
  ['nothing', { key: '', value: '', headers: {} }],
])('a record that says %s is not the message of an erased event', (_, record) => {
  expect(messageOfErased(erased(logged!), record)).toBeUndefined();
});

test('the message of an erased event has the plant and the data in one form', () => {
  const other = { ...published, key: `alice/${7n + 2n ** 64n}`, value: ` ${published.value}` };
  expect(messageOfErased(erased(logged!), other)).toEqual(published);
});
