import type { Db } from 'mongodb';
import type { MissingRights } from '../store.ts';
import type { Collections } from './collections.ts';
import { withCallLimit } from './connection/client.ts';

/** What the service does with the documents of each collection (docs/mongodb.md, "Users"). */
const NEEDED: Readonly<Record<keyof Collections, readonly string[]>> = {
  events: ['find', 'insert'],
  leases: ['find', 'insert', 'update'],
  meta: ['find', 'insert', 'update'],
  tree: ['find', 'insert', 'update', 'remove'],
  plants: ['find', 'insert', 'update', 'remove'],
};

interface Privilege {
  readonly resource: { readonly anyResource?: boolean; readonly db?: string; readonly collection?: string };
  readonly actions: readonly string[];
}

/** See Store.missingRights. Without a user, MongoDB asks for no right, or has refused the connection. */
export async function missingRights(db: Db): Promise<MissingRights> {
  const { authInfo } = await withCallLimit(db.command({ connectionStatus: 1, showPrivileges: true }));
  if (authInfo.authenticatedUsers.length === 0) return { service: [], erasure: [] };
  const privileges: readonly Privilege[] = authInfo.authenticatedUserPrivileges;
  const lacks = (collection: string) => (action: string) =>
    !privileges.some(({ resource, actions }) => covers(resource, db, collection) && actions.includes(action));
  const missing = (collection: string, actions: readonly string[]) =>
    actions.filter(lacks(collection)).map((action) => `${action} on ${collection}`);
  return {
    service: Object.entries(NEEDED).flatMap(([collection, actions]) => missing(collection, actions)),
    erasure: missing('events', ['update']),
  };
}

/** Whether a resource of a role covers a collection: an empty name stands for all. */
const covers = ({ anyResource, db, collection }: Privilege['resource'], { databaseName }: Db, name: string): boolean =>
  anyResource === true || ((db === '' || db === databaseName) && (collection === '' || collection === name));
