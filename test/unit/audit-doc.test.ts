import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseEvent } from '../../src/audit/formats/parse-event.ts';
import { headAt, verifyNext } from '../../src/log/event/chain.ts';
import { encodeContent, encodeEvent } from '../../src/log/event/encode.ts';
import { EMPTY_HEAD, type Head } from '../../src/log/event/event.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const text = readFileSync('docs/audit.md', 'utf8');

test('the events that docs/audit.md gives to check a program against have these canonical bytes and chain', () => {
  const examples = [...text.matchAll(/^(\{"position".*\})\n([0-9a-f]+)\n([0-9a-f]+)$/gm)];
  expect(examples).toHaveLength(5);
  let head: Head = EMPTY_HEAD;
  for (const [, line, event, content] of examples) {
    const logged = parseEvent(line!);
    expect(hex(encodeEvent(logged))).toBe(event);
    expect(hex(encodeContent(logged.event!, logged.salt!))).toBe(content);
    verifyNext(head, logged);
    head = headAt(logged);
  }
});

test('what docs/audit.md shows of an erased event has the canonical bytes that it had before', () => {
  const [, before] = /^\{"position":1,.*"salt".*\}\n([0-9a-f]+)$/m.exec(text)!;
  const [after] = /^\{"position":1,.*"erasedBy":4,.*\}$/m.exec(text)!;
  expect(hex(encodeEvent(parseEvent(after)))).toBe(before);
});
