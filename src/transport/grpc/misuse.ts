/**
 * Calls of a connection that its client may reset in the turn of the event loop in which they began, after others of
 * that turn were reset: so a client whose calls expired before they were read may reset all of them, once. Node hands
 * over all of a read at once, and bounds resets at a thousand.
 */
const MOST_RESET = 16;
/**
 * Pieces of a request's message that are too small to be honest: each costs as much as a large one. So many on a
 * connection between two looks are too many. The first ones of a stream may be small: clients send a message's length
 * alone.
 */
const SMALL = 64;
const FIRST_PIECES = 4;
const MOST_SMALL = 256;
/** What the library keeps of a small piece until its message is whole. */
const PIECE_HELD = 256;

/** When a call began: the turn of the event loop, and whether others of that turn had been reset by then. */
export interface BegunCall {
  readonly turn: number;
  readonly isAfterReset: boolean;
}

/** Bounds the calls of a connection that are reset as soon as they begin ("rapid reset", CVE-2023-44487). */
export class RapidResets {
  #turn = 0;
  /** Whether a call has begun in this turn. */
  #isTurn = false;
  /** Of the calls that began in this turn: whether any was reset, and how many after that. */
  #hasReset = false;
  #reset = 0;

  /** A call begins. */
  begun(): BegunCall {
    if (!this.#isTurn) this.#beginTurn();
    return { turn: this.#turn, isAfterReset: this.#hasReset };
  }

  /** A call is over. Returns whether the client has reset too many. */
  ended({ turn, isAfterReset }: BegunCall): boolean {
    if (!this.#isTurn || turn !== this.#turn) return false;
    this.#hasReset = true;
    if (isAfterReset) this.#reset++;
    return this.#reset > MOST_RESET;
  }

  #beginTurn(): void {
    this.#isTurn = true;
    this.#hasReset = false;
    this.#reset = 0;
    setImmediate(() => {
      this.#isTurn = false;
      this.#turn++;
    });
  }
}

/** Bounds the small pieces in which messages of a connection arrive ("data dribble", CVE-2019-9511). */
export class SmallPieces {
  /** Since the last look, and since all requests were whole. */
  #small = 0;
  #kept = 0;

  /** What the library keeps of them, in bytes. */
  get bytes(): number {
    return this.#kept * PIECE_HELD;
  }

  /** Counts a piece: that of a number, from 1 on, in its stream. Returns whether there were too many small ones. */
  isOneTooMany(length: number, number: number): boolean {
    if (length >= SMALL || number <= FIRST_PIECES) return false;
    this.#small++;
    this.#kept++;
    return this.#small > MOST_SMALL;
  }

  /** Counts anew, with what the library keeps of messages that are not whole. */
  look(incomplete: number): void {
    this.#small = 0;
    if (incomplete === 0) this.#kept = 0;
  }
}
