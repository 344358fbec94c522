import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseEvent } from '../../src/audit/parse-event.ts';
import { canonicalBytes } from '../../src/log/canonical.ts';
import { headAt, verifyNext } from '../../src/log/chain.ts';
import { EMPTY_HEAD, type Head } from '../../src/log/event.ts';

test('the events that docs/audit.md gives to check a program against have these canonical bytes and chain', () => {
  const examples = [...readFileSync('docs/audit.md', 'utf8').matchAll(/^(\{"position".*\})\n([0-9a-f]+)$/gm)];
  expect(examples).toHaveLength(4);
  let head: Head = EMPTY_HEAD;
  for (const [, line, bytes] of examples) {
    const event = parseEvent(line!);
    expect(Buffer.from(canonicalBytes(event)).toString('hex')).toBe(bytes);
    verifyNext(head, event);
    head = headAt(event);
  }
});
