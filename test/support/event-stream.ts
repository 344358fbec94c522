import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { EventStreamParser, type StreamEvent } from '../../client/event-stream.ts';

/** Options of an event stream. */
export interface StreamOptions {
  readonly lastEventId?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An open event stream. */
export class EventStreamReader {
  readonly parser: EventStreamParser;
  readonly response: IncomingMessage;
  /** Comments so far. */
  comments = 0;
  readonly #request: ClientRequest;
  #rest: AsyncGenerator<StreamEvent> | undefined;

  private constructor(call: ClientRequest, response: IncomingMessage, lastEventId = '') {
    this.#request = call;
    this.response = response.setEncoding('utf8');
    this.parser = new EventStreamParser(lastEventId);
  }

  /** Requests the stream. Resolves with any response. */
  static open(url: string, options: StreamOptions = {}): Promise<EventStreamReader> {
    const { lastEventId, headers } = options;
    return new Promise((resolve, reject) => {
      const call = request(`${url}/plants`, {
        agent: false,
        headers: { accept: 'text/event-stream', ...(lastEventId && { 'last-event-id': lastEventId }), ...headers },
      });
      call.on('response', (response) => resolve(new EventStreamReader(call, response, lastEventId)));
      call.on('error', reject);
      call.end();
    });
  }

  /** Each event, until the stream ends or is cut. */
  async *events(): AsyncGenerator<StreamEvent> {
    try {
      for await (const piece of this.response as AsyncIterable<string>) {
        this.comments += piece.match(/^:/gm)?.length ?? 0;
        yield* this.parser.read(piece);
      }
    } catch {
      // The server has cut the connection.
    } finally {
      this.close();
    }
  }

  /** The next `count` events. */
  async take(count: number): Promise<StreamEvent[]> {
    const events: StreamEvent[] = [];
    this.#rest ??= this.events();
    while (events.length < count) {
      const { done, value } = await this.#rest.next();
      if (done === true) break;
      events.push(value);
    }
    return events;
  }

  close(): void {
    this.#request.destroy();
    this.response.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
