import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { PlantStoreError } from '../../domain/errors.ts';
import type { Protocol } from '../../observe/request.ts';
import type { Entrant, Place } from '../admission/place.ts';
import { answerOn } from './answer-on.ts';
import { endUnlessComplete, LINGER } from './linger.ts';
import { lastAlone } from './pipelining.ts';
import { claimedProtocolOf, refuse } from './refusal.ts';

const ENTRANT = Symbol('entrant');

/** Called once: without an error when the request continues, or with the error to answer. */
export type Continue = (error?: PlantStoreError) => void;

/** The request's entrant. Undefined where no guard stands before the routes. */
export const entrantOf = (request: IncomingMessage): HttpEntrant | undefined =>
  (request as { [ENTRANT]?: HttpEntrant })[ENTRANT];

/** An HTTP/1.1 request during admission. It holds its place until it is answered or its client has left. */
export class HttpEntrant implements Entrant {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #serve: RequestListener;
  readonly #isDraining: () => boolean;
  #place: Place | undefined;
  /** The continuation that waits for the place. */
  #continue: Continue | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, serve: RequestListener, isDraining: () => boolean) {
    this.#request = request;
    this.#response = response;
    this.#serve = serve;
    this.#isDraining = isDraining;
  }

  get protocol(): Protocol {
    return claimedProtocolOf(this.#request);
  }

  /**
   * A request behind another one on its connection may not wait: a single client that pipelines could fill the whole
   * queue.
   */
  get mayWait(): boolean {
    return answerOn(this.#request.socket) === this.#response;
  }

  get isGone(): boolean {
    return this.#response.closed;
  }

  get peer(): string {
    const { remoteAddress, remotePort } = this.#request.socket;
    return `${remoteAddress}:${remotePort}`;
  }

  admit(place: Place): void {
    this.#place = place;
    (this.#request as { [ENTRANT]?: HttpEntrant })[ENTRANT] = this;
    this.#response.on('close', () => this.#over());
    this.#closeWhenDraining();
    this.#serve(this.#request, this.#response);
  }

  /**
   * Its token must be verified. Returns false when too many tokens are being verified; `refused` has then been called.
   */
  verifying(refused: Continue): boolean {
    this.#continue = refused;
    return this.#place!.verifying();
  }

  /** Its caller is known. It continues in one of this owner's places. */
  belongTo(owner: string, next: Continue): void {
    this.#continue = next;
    this.#place!.belongTo(owner);
  }

  /** Its body is awaited. `refused` is called when the body may not take longer. */
  awaitBody(refused: Continue): void {
    this.#continue = refused;
    this.#place!.awaitRest();
    // 100 Continue goes out only now, when the body will be read (RFC 9110, section 10.1.1).
    if (this.#request.headers.expect !== undefined) this.#response.writeContinue();
  }

  /** Its body is complete. It continues in a place. */
  whole(next: Continue): void {
    this.#continue = next;
    this.#place!.whole();
  }

  /** It is answered. The rest of the request is useless and holds no place. */
  leave(): void {
    this.#place![Symbol.dispose]();
  }

  /** Its answer lasts as long as its client likes and is counted elsewhere. Gives the place back. */
  lasts(): void {
    this.leave();
    lastAlone(this.#response, this.#request.socket);
  }

  proceed(): void {
    this.#continue!();
  }

  refuse(error: PlantStoreError): void {
    if (this.#place !== undefined) {
      this.#continue!(error);
      return;
    }
    this.#closeWhenDraining();
    refuse(this.#response, this.protocol);
  }

  /** Node's own limit on the time of a request answers it. */
  late(): void {}

  /**
   * The request is answered, or its client has left. The rest of an answered request may still come; it is discarded.
   */
  #over(): void {
    this.leave();
    const { complete, socket } = this.#request;
    if (!complete && !socket.destroyed) setTimeout(endUnlessComplete, LINGER, this.#request).unref();
  }

  #closeWhenDraining(): void {
    if (this.#isDraining()) this.#response.setHeader('connection', 'close');
  }
}
