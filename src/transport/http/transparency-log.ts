import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import type { EventLog } from '../../log/log.ts';
import type { Tree } from '../../log/tree/tree.ts';
import { unavailable } from '../../log/unavailable.ts';
import { CLIENT_LEFT, NOBODY, type Semaphore } from '../../semaphore.ts';
import { parseIndexPath, parseLevel, sizeFor, TILE_WIDTH, type Tile } from '../../tlog/tile.ts';
import { formatTlogProof } from '../../tlog/tlog-proof.ts';
import { formatVerifierKey, type VerifierKey } from '../../tlog/verifier-key.ts';
import { type Checkpoints, notIncluded } from '../../transparency/checkpoints.ts';
import { proveEvent } from '../../transparency/event-proof.ts';
import { IMMUTABLE, prefersGzip, varyBy } from './headers.ts';
import { addResource } from './methods.ts';

/** Content type of a checkpoint (c2sp.org/tlog-tiles, "Checkpoints"). */
const TEXT = 'text/plain; charset=utf-8';
const BYTES = 'application/octet-stream';

/** For checkpoints: a cached one has all that was acknowledged over 15 s ago. */
const SECONDS = 'public, max-age=5';
/** For resources that may change when a key is rotated. */
const HOUR = 'public, max-age=3600';

const compress = promisify(gzip);

interface TransparencyLog {
  readonly log: Pick<EventLog, 'status' | 'head'>;
  readonly tree: Tree;
  readonly checkpoints: Checkpoints;
  /** Whether so many events are signed, and the tree is theirs. */
  readonly covers: (size: number) => Promise<boolean>;
  readonly key: () => Promise<VerifierKey>;
  readonly proofs: Semaphore;
}

/** Adds c2sp.org/tlog-tiles under `/log`, and `/log/proof/<position>` and `/log/key`. None needs a token. */
export function registerTransparencyLog(app: FastifyInstance, options: TransparencyLog): void {
  const { log, tree, checkpoints, covers, key, proofs } = options;
  const add = (
    path: string,
    caching: string,
    type: string,
    body: (request: FastifyRequest, reply: FastifyReply) => Promise<string | Uint8Array>,
  ): void =>
    addResource(app, `/log/${path}`, async (request, reply) => {
      // Reads of the public log are free, and must not delay callers with a token.
      using _permit = await proofs.acquire(NOBODY);
      if (request.socket.destroyed) throw CLIENT_LEFT;
      try {
        const content = await body(request, reply);
        if (!reply.hasHeader('cache-control')) reply.header('cache-control', caching);
        return reply.type(type).send(Buffer.from(content));
      } catch (error) {
        throw unavailable(error);
      }
    });

  /** Throws EVENT_NOT_FOUND unless the log has so many events. Another instance may have told of a larger one. */
  const checkReached = async (size: number): Promise<void> => {
    if (size > log.status.head && size > (await log.head()).position)
      throw notThere('the log does not have that many events');
  };

  /**
   * Caches keep a full tile for ever, once it is signed. Before, it may be of a damaged tree, which somebody repairs. A
   * partial one is asked for only until it is full. To be asked before the tile is read: what the tree remembered may
   * have been forgotten meanwhile, and a repaired one signed.
   */
  const cachingOf = async (tile: Tile): Promise<string> =>
    tile.width === TILE_WIDTH && (await covers(sizeFor(tile))) ? IMMUTABLE : SECONDS;

  add('checkpoint', SECONDS, TEXT, async () => (await checkpoints.latest()).note);

  add('key', HOUR, TEXT, async () => `${formatVerifierKey(await key())}\n`);

  add('proof/:position', SECONDS, TEXT, async (request) => {
    const position = positionOf(param(request, 'position'));
    const checkpoint = await checkpoints.latest();
    if (position > checkpoint.size) {
      await checkReached(position);
      throw notThere(notIncluded(checkpoints, position));
    }
    const { proof } = await proveEvent(tree, checkpoint, position);
    return formatTlogProof({ index: position - 1, hashes: proof, checkpoint: checkpoint.note });
  });

  add('tile/:level/*', SECONDS, BYTES, async (request, reply) => {
    const level = parseLevel(param(request, 'level'));
    const place = parseIndexPath(param(request, '*'));
    if (level === undefined || place === undefined) throw notFound('this is not the path of a tile');
    const tile: Tile = { level, ...place };
    await checkReached(sizeFor(tile));
    reply.header('cache-control', await cachingOf(tile));
    return tree.readTile(tile);
  });

  add('tile/entries/*', SECONDS, BYTES, async (request, reply) => {
    const place = parseIndexPath(param(request, '*'));
    if (place === undefined) throw notFound('this is not the path of an entry bundle');
    const tile: Tile = { level: 0, ...place };
    await checkReached(sizeFor(tile));
    reply.header('cache-control', await cachingOf(tile));
    const { bundle } = await tree.readBlock(place.index, place.width);
    varyBy(reply, 'accept-encoding');
    if (!prefersGzip(request.headers['accept-encoding'])) return bundle;
    reply.header('content-encoding', 'gzip');
    return compress(bundle);
  });
}

const notThere = (message: string): PlantStoreError => new PlantStoreError('EVENT_NOT_FOUND', message);

const notFound = (message: string): PlantStoreError => new PlantStoreError('ROUTE_NOT_FOUND', message);

const param = (request: FastifyRequest, name: string): string => (request.params as Record<string, string>)[name] ?? '';

function positionOf(text: string): number {
  const position = Number(text);
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(position))
    throw notFound('this is not the position of an event');
  return position;
}
