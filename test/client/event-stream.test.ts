import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventStreamParser } from '../../client/event-stream.ts';

const STREAM =
  'retry: 1000\nretry: soon\nafter: 5\n\n: comment\n\nevent: added\ndata: {"id":7}\n\nevent: ready\r\nid: 12\r\ndata: 1\r\ndata:2\r\n\r\n' +
  'data\rid\r\rid: 13\n\nevent: added\nid: 14\ndata: \u{1F33F}\n\nevent: cut\nid: 15\ndata: x\n';

const EVENTS = [
  { type: 'added', data: '{"id":7}', lastEventId: '' },
  { type: 'ready', data: '1\n2', lastEventId: '12' },
  { type: 'message', data: '', lastEventId: '' },
  { type: 'added', data: '\u{1F33F}', lastEventId: '14' },
];

test('an event stream is the same events, in whatever pieces it comes', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(STREAM.length)), (cuts) => {
      const ends = [...cuts.sort((a, b) => a - b), STREAM.length];
      const parser = new EventStreamParser('');
      const pieces = ends.map((end, index) => STREAM.slice(ends[index - 1] ?? 0, end));
      expect(pieces.flatMap((piece) => [...parser.read(piece)])).toEqual(EVENTS);
      expect(parser.retry).toBe(1000);
    }),
  );
});

test('an id holds until another comes', () => {
  const events = new EventStreamParser('5').read('data: a\n\nid: 6\ndata: b\n\ndata: c\n\n');
  expect(events.map(({ lastEventId }) => lastEventId).toArray()).toEqual(['5', '6', '6']);
});
