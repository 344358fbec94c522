import type { IncomingHttpHeaders } from 'node:http';
import type { Reply } from './http.ts';

/**
 * The answers on a connection, in their order. Throws when what came is not HTTP, or when the last one is cut short.
 */
export function answersIn(bytes: Buffer, isHead = false): Reply[] {
  const answers: Reply[] = [];
  let rest = bytes.toString('latin1');
  while (rest !== '') {
    const { answer, after } = nextAnswer(rest, isHead);
    if (answer.status >= 200) answers.push(answer);
    rest = after;
  }
  return answers;
}

function nextAnswer(text: string, isHead: boolean): { answer: Reply; after: string } {
  const end = text.indexOf('\r\n\r\n');
  const [line = '', ...fields] = text.slice(0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
  if (end < 0 || Number.isNaN(status)) throw new Error(`this is no answer: ${JSON.stringify(text.slice(0, 200))}`);
  const headers = Object.fromEntries(
    fields.map((field) => {
      const colon = field.indexOf(':');
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
    }),
  );
  const content = text.slice(end + 4);
  const { body, after } = bodyIn(content, headers, isHead || status < 200 || status === 204 || status === 304);
  return { answer: { status, headers, text: Buffer.from(body, 'latin1').toString() }, after };
}

function bodyIn(content: string, headers: IncomingHttpHeaders, isEmpty: boolean): { body: string; after: string } {
  if (isEmpty) return { body: '', after: content };
  if (headers['transfer-encoding'] === 'chunked') return dechunked(content);
  const length = Number(headers['content-length']);
  if (Number.isNaN(length)) throw new Error('an answer does not tell its length');
  if (content.length < length) throw new Error('an answer is cut short');
  return { body: content.slice(0, length), after: content.slice(length) };
}

function dechunked(content: string): { body: string; after: string } {
  let body = '';
  for (let from = 0; ; ) {
    const line = content.indexOf('\r\n', from);
    const size = Number.parseInt(content.slice(from, line), 16);
    const start = line + 2;
    if (line < 0 || Number.isNaN(size) || content.length < start + size + 2) throw new Error('an answer is cut short');
    body += content.slice(start, start + size);
    from = start + size + 2;
    if (size === 0) return { body, after: content.slice(from) };
  }
}
