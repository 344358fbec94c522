import { existsSync, readFileSync } from 'node:fs';
import type { Logger } from '../observe/logger.ts';

/** Most files that are kept for all but these connections: the store, the admin port, other hosts. */
const RESERVED_FILES = 512;

/**
 * Connections to each of the two ports: `maximum`, or fewer where the limit on open files has no room for so many. What
 * is left of it keeps the store and the admin port going.
 */
export function connectionsWithin(maximum: number, logger: Pick<Logger, 'info'>): number {
  const limit = openFilesLimit();
  const room = Math.floor((limit - Math.min(RESERVED_FILES, limit / 3)) / 2);
  if (maximum <= room) return maximum;
  const what = 'the limit on open files has no room for MAX_CONNECTIONS: raise the limit, or lower the setting';
  logger.info({ limit, maximum, connections: room }, what);
  return room;
}

const LIMITS = '/proc/self/limits';

/** What Linux allows this process; elsewhere nobody knows. Node has raised it as far as it may. */
function openFilesLimit(): number {
  if (!existsSync(LIMITS)) return Number.POSITIVE_INFINITY;
  const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync(LIMITS, 'utf8')) ?? [];
  return Number(limit ?? Number.POSITIVE_INFINITY);
}
