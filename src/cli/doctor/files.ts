import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { DEVELOPMENT_KEY_FILE } from '../../auth/keys/development-key.ts';
import type { Config, GrpcTls } from '../../config.ts';
import { DATABASE_FILE } from '../../log/sqlite/store.ts';
import { AUDIT_KEY_FILE } from '../../transparency/log-key.ts';
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts';

/** Bytes of room on the disk of the embedded store below which an operator should know, and below which it will soon stop. */
const LITTLE_ROOM = 1024 ** 3;
const NO_ROOM = 64 * 1024 ** 2;
/** Milliseconds before its end from which on a certificate is to be renewed. */
const RENEWAL = 14 * 24 * 60 * 60 * 1_000;
/** The bits of a file's mode that are for others than its owner. */
const OTHERS = 0o077;

/** Examines the data directory, the key files and the certificates: that they can be read, and by whom else. */
export async function examineFiles(config: Config): Promise<Finding[]> {
  const { dataDirectory, mongodbUri, issuer, auditSigningKey, grpcTls } = config;
  const findings: Finding[] = [];
  if (mongodbUri === undefined)
    findings.push(
      ...(await rights('data', dataDirectory)),
      ...(await rights('data', join(dataDirectory, DATABASE_FILE))),
      ...(await room(dataDirectory)),
    );
  findings.push(
    ...(auditSigningKey === undefined
      ? await keyFile('audit key', join(dataDirectory, AUDIT_KEY_FILE))
      : [ok('audit key', 'AUDIT_SIGNING_KEY gives it')]),
  );
  if (auditSigningKey === undefined && mongodbUri !== undefined)
    findings.push(
      warn('audit key', 'each instance signs with a key of its own: set AUDIT_SIGNING_KEY, the same on all of them'),
    );
  if (issuer === undefined) findings.push(...(await keyFile('token key', join(dataDirectory, DEVELOPMENT_KEY_FILE))));
  if (grpcTls !== undefined) findings.push(await certificate(grpcTls));
  return findings;
}

/** What is wrong with who may read a file or a directory; nothing where it is not there. */
async function rights(subject: string, path: string): Promise<Finding[]> {
  const found = await statOf(path);
  if (found === undefined) return [];
  const others = found.mode & OTHERS;
  const wanted = found.isDirectory() ? '700' : '600';
  if (others !== 0) return [fail(subject, `${path} is open to others than its owner: chmod ${wanted} ${path}`)];
  const user = process.getuid?.();
  if (user !== undefined && user !== 0 && found.uid !== user)
    return [warn(subject, `${path} belongs to user ${found.uid}, and you are ${user}: run this as the service's user`)];
  return [ok(subject, `${path} is its owner's alone`)];
}

async function keyFile(subject: string, path: string): Promise<Finding[]> {
  if ((await statOf(path)) === undefined) return [ok(subject, `${path} is made when it is first needed`)];
  try {
    const { asymmetricKeyType } = createPrivateKey(await readFile(path, 'utf8'));
    if (asymmetricKeyType !== 'ed25519') throw new Error('it is no Ed25519 key');
  } catch (error) {
    return [fail(subject, `${path} cannot be used: ${reasonOf(error)}; put the right key back from your backup`)];
  }
  return rights(subject, path);
}

async function room(directory: string): Promise<Finding[]> {
  try {
    const { bavail, bsize } = await statfs(directory);
    const bytes = bavail * bsize;
    const message = `${Math.floor(bytes / 1024 ** 2)} MiB are free on the disk of ${directory}`;
    if (bytes < NO_ROOM) return [fail('disk', `${message}: make room, or adds and deletes will be refused`)];
    return [bytes < LITTLE_ROOM ? warn('disk', `${message}: make room`) : ok('disk', message)];
  } catch {
    // The directory is not there, which the store's finding says.
    return [];
  }
}

async function certificate({ certificate: path, key }: GrpcTls): Promise<Finding> {
  try {
    const leaf = new X509Certificate(await readFile(path));
    if (!leaf.checkPrivateKey(createPrivateKey(await readFile(key))))
      return fail('gRPC TLS', `the key in ${key} is not that of the certificate in ${path}`);
    const left = leaf.validToDate.getTime() - Date.now();
    if (left <= 0) return fail('gRPC TLS', `the certificate in ${path} ended on ${leaf.validTo}: renew it`);
    const message = `the certificate in ${path} is valid until ${leaf.validTo}`;
    return left < RENEWAL ? warn('gRPC TLS', `${message}: renew it`) : ok('gRPC TLS', message);
  } catch (error) {
    return fail('gRPC TLS', reasonOf(error));
  }
}

const statOf = (path: string) =>
  stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
