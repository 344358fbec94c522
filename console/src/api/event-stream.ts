/** One event of a stream (WHATWG HTML, section 9.2). */
export interface StreamEvent {
  readonly type: string;
  readonly data: string;
  /** Undefined if the event has no `id` line; empty if it clears the last id. */
  readonly id: string | undefined;
}

/** Reads a body as an event stream. A browser's own EventSource sends no token. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent[]> {
  const decoder = new TextDecoder();
  let rest = '';
  const reader = body.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const blocks = (rest + decoder.decode(read.value, { stream: true })).split('\n\n');
      rest = blocks.pop()!;
      const events = blocks.map(parse).filter((event) => event !== undefined);
      if (events.length > 0) yield events;
    }
  } finally {
    await reader.cancel();
  }
}

function parse(block: string): StreamEvent | undefined {
  let type = '';
  let data: string | undefined;
  let id: string | undefined;
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'event') type = value;
    else if (name === 'data') data = value;
    else if (name === 'id') id = value;
  }
  return data === undefined ? undefined : { type, data, id };
}
