import { Connection } from './connection.ts';
import type { ArrivalsJob, RestTarget } from './job.ts';
import type { OpenLine } from './line.ts';

/**
 * Lines of HTTP/1.1: a connection each. They render the requests of a job in turns, with its tokens in turns and ever
 * new ids.
 */
export function restLines({ url, requests }: RestTarget, { tokens, ids }: ArrivalsJob): OpenLine {
  let [made, id] = [0, ids.from];
  const rendered = requests.map(({ method, path, body = '' }) => {
    const length = Buffer.byteLength(body.replaceAll('{id}', `${id}`));
    const content = body === '' ? '' : `content-type: application/json\r\ncontent-length: ${length}\r\n`;
    const text = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n${content}\r\n${body}`;
    return tokens.map((token) => text.replace('{token}', token).split('{id}'));
  });
  const render = () => {
    const turn = made++;
    const parts = rendered[turn % requests.length]![turn % tokens.length]!;
    return parts.length === 1 ? parts[0]! : parts.join(`${id++}`);
  };
  return (listener) => new Connection(url, render, listener);
}
