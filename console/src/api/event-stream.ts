import { EventStreamParser, type StreamEvent } from '../../../client/event-stream.ts';

/**
 * Reads a body as an event stream that continues after `lastEventId`, empty for a new one. A browser's own EventSource sends no
 * token.
 */
export async function* readEventStream(
  body: ReadableStream<Uint8Array>,
  lastEventId: string,
): AsyncGenerator<readonly StreamEvent[]> {
  const decoder = new TextDecoder();
  const parser = new EventStreamParser(lastEventId);
  const reader = body.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const events = [...parser.read(decoder.decode(read.value, { stream: true }))];
      if (events.length > 0) yield events;
    }
  } finally {
    await reader.cancel();
  }
}
