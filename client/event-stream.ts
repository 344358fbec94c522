/** An event of an event stream (WHATWG HTML, section 9.2). */
export interface StreamEvent {
  readonly type: string;
  readonly data: string;
  /** The last id up to and including this event; empty if there is none. */
  readonly lastEventId: string;
}

/** Parses the text of one event stream, which may arrive in pieces of any size. */
export class EventStreamParser {
  /** Milliseconds to wait before the next connection, if the stream says so. */
  retry: number | undefined;
  #text = '';
  #type = '';
  #data: string[] = [];
  #id: string;

  constructor(lastEventId: string) {
    this.#id = lastEventId;
  }

  /** The events that this piece completes. */
  *read(piece: string): Generator<StreamEvent> {
    const lines = (this.#text + piece).split(/\r\n|\n|\r(?!$)/);
    this.#text = lines.pop()!;
    for (const line of lines) {
      if (line !== '') {
        this.#field(line);
        continue;
      }
      const event = { type: this.#type || 'message', data: this.#data.join('\n'), lastEventId: this.#id };
      if (this.#data.length > 0) yield event;
      this.#type = '';
      this.#data = [];
    }
  }

  #field(line: string): void {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (name === 'event') this.#type = value;
    else if (name === 'data') this.#data.push(value);
    else if (name === 'id') this.#id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) this.retry = Number(value);
  }
}
