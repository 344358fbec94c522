import type { Db } from 'mongodb';
import type { MissingRights } from '../store.ts';
import type { Collections } from './collections.ts';
import { withCallLimit } from './connection/client.ts';

type Rights = Readonly<Record<string, readonly string[]>>;

/** What the service does with the documents of each collection (docs/mongodb.md, "Users"). */
const SERVICE: Readonly<Record<keyof Collections, readonly string[]>> = {
  events: ['find', 'insert'],
  leases: ['find', 'insert', 'update'],
  meta: ['find', 'insert', 'update'],
  tree: ['find', 'insert', 'update', 'remove'],
  plants: ['find', 'insert', 'update', 'remove'],
};
const ERASURE: Rights = { events: ['update'] };
/** What an upgrade does beside these. The rows of rebuilds it can drop: whoever made them in 1.0.0 could. */
const UPGRADE: Rights = { erasures: ['find', 'dropCollection'], checkpoints: ['dropCollection'] };

interface Privilege {
  readonly resource: { readonly anyResource?: boolean; readonly db?: string; readonly collection?: string };
  readonly actions: readonly string[];
}

/** See Store.missingRights. */
export async function missingRights(db: Db): Promise<MissingRights> {
  const missing = await rightsOf(db);
  return { service: missing(SERVICE), erasure: missing(ERASURE) };
}

/** Whether the user may do all that an upgrade of the store of 1.0.0 takes (docs/mongodb.md, "Upgrading"). */
export async function mayUpgrade(db: Db): Promise<boolean> {
  const missing = await rightsOf(db);
  return [SERVICE, ERASURE, UPGRADE].every((needed) => missing(needed).length === 0);
}

/**
 * A function that says which of some rights the user lacks. Without a user, MongoDB asks for no right, or has refused
 * the connection.
 */
async function rightsOf(db: Db): Promise<(needed: Rights) => string[]> {
  const { authInfo } = await withCallLimit(db.command({ connectionStatus: 1, showPrivileges: true }));
  if (authInfo.authenticatedUsers.length === 0) return () => [];
  const privileges: readonly Privilege[] = authInfo.authenticatedUserPrivileges;
  const has = (collection: string, action: string) =>
    privileges.some(
      ({ resource, actions }) =>
        covers(resource, db, collection) && (actions.includes(action) || actions.includes('anyAction')),
    );
  return (needed) =>
    Object.entries(needed).flatMap(([collection, actions]) =>
      actions.filter((action) => !has(collection, action)).map((action) => `${action} on ${collection}`),
    );
}

/** Whether a resource of a role covers a collection: an empty name stands for all. */
const covers = ({ anyResource, db, collection }: Privilege['resource'], { databaseName }: Db, name: string): boolean =>
  anyResource === true || ((db === '' || db === databaseName) && (collection === '' || collection === name));
