import { type ClientRequest, type IncomingMessage, request } from 'node:http';

/** An event of an event stream, as a client receives it (WHATWG HTML, section 9.2.6). */
export interface ServerEvent {
  readonly type: string;
  readonly data: string;
  /** The last event id, up to and including this event. */
  readonly lastEventId: string;
}

/** Parses the bytes of an event stream according to the standard. */
export class EventParser {
  /** The id that a client sends when it reconnects. */
  lastEventId: string;
  /** Comments so far. */
  comments = 0;
  /** Reconnection time of the stream in milliseconds. */
  retry: number | undefined;
  readonly #decoder = new TextDecoder();
  #text = '';
  #type = '';
  #data: string[] = [];
  #id: string;

  constructor(lastEventId = '') {
    this.lastEventId = lastEventId;
    this.#id = lastEventId;
  }

  /** The events that these bytes complete. */
  read(bytes: Uint8Array): ServerEvent[] {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    const lines = this.#text.split('\n');
    this.#text = lines.pop()!;
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): ServerEvent[] {
    if (line === '') return this.#dispatch();
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/su.exec(line)!;
    if (line.startsWith(':')) this.comments++;
    else if (field === 'event') this.#type = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'id') this.#id = value;
    else if (field === 'retry') this.retry = Number(value);
    return [];
  }

  #dispatch(): ServerEvent[] {
    this.lastEventId = this.#id;
    const event = { type: this.#type || 'message', data: this.#data.join('\n'), lastEventId: this.#id };
    this.#type = '';
    this.#data = [];
    return event.data === '' ? [] : [event];
  }
}

/** Options of an event stream. */
export interface StreamOptions {
  readonly lastEventId?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes of the body after which the test cuts the connection. */
  readonly cutAfter?: number;
}

/** An open event stream. */
export class EventStreamReader {
  readonly parser: EventParser;
  readonly response: IncomingMessage;
  readonly #request: ClientRequest;
  readonly #cutAfter: number;

  private constructor(call: ClientRequest, response: IncomingMessage, { lastEventId, cutAfter }: StreamOptions) {
    this.#request = call;
    this.response = response;
    this.parser = new EventParser(lastEventId);
    this.#cutAfter = cutAfter ?? Number.POSITIVE_INFINITY;
  }

  /** Requests the stream. Resolves with any response. */
  static open(url: string, options: StreamOptions = {}): Promise<EventStreamReader> {
    const { lastEventId, headers } = options;
    return new Promise((resolve, reject) => {
      const call = request(`${url}/plants`, {
        agent: false,
        headers: { accept: 'text/event-stream', ...(lastEventId && { 'last-event-id': lastEventId }), ...headers },
      });
      call.on('response', (response) => resolve(new EventStreamReader(call, response, options)));
      call.on('error', reject);
      call.end();
    });
  }

  /** Each event, until the stream ends or is cut. */
  async *events(): AsyncGenerator<ServerEvent> {
    let left = this.#cutAfter;
    try {
      for await (const chunk of this.response as AsyncIterable<Buffer>) {
        yield* this.parser.read(chunk.subarray(0, Math.max(left, 0)));
        left -= chunk.length;
        if (left <= 0) return;
      }
    } catch {
      // The server has cut the connection.
    } finally {
      this.close();
    }
  }

  /** The next `count` events. */
  async take(count: number): Promise<ServerEvent[]> {
    const events: ServerEvent[] = [];
    this.#rest ??= this.events();
    while (events.length < count) {
      const { done, value } = await this.#rest.next();
      if (done === true) break;
      events.push(value);
    }
    return events;
  }

  #rest: AsyncGenerator<ServerEvent> | undefined;

  close(): void {
    this.#request.destroy();
    this.response.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
