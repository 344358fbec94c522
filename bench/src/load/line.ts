/** Carries one request at a time to the server. No more of an answer is read than has to be. */
export interface Line {
  /** Sends the next request, which was to be sent at a given time. */
  send(planned: number): void;
  /** Breaks it off. */
  close(): void;
}

/** Hears of a line: its request got an answer of this HTTP status (or what it means); it is closed. */
export interface Listener {
  answered(line: Line, status: number, planned: number): void;
  closed(line: Line): void;
}

/** Opens a line. */
export type OpenLine = (listener: Listener) => Line;
