import { access, constants, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { DEVELOPMENT_KEY_FILE } from '../../auth/development.ts';
import { ed25519KeyOf } from '../../auth/keys/key-file.ts';
import type { Config } from '../../config.ts';
import { isOfService, OTHERS, OWN_FOLDER_ADVICE, ROOT, readText } from '../../files.ts';
import { DATABASE_FILE } from '../../log/sqlite/store.ts';
import { AUDIT_KEY_FILE } from '../../transparency/log-key.ts';
import { CHECKPOINT_FILE } from '../../transparency/signed-checkpoint.ts';
import { readCertificates, refusalAsClient } from '../../transport/grpc/certificates.ts';
import { type Finding, fail, ok, reasonOf, warn } from './finding.ts';

/** Free bytes on the embedded store's disk: little is worth a warning; with less, writes will soon fail. */
const LITTLE_ROOM = 1024 ** 3;
const NO_ROOM = 64 * 1024 ** 2;
/** Milliseconds before a certificate expires from which to warn. */
const RENEWAL_PERIOD = 14 * 24 * 60 * 60 * 1_000;

/** Examines the data directory, the key files and the certificates: are they usable, and only by their owner? */
export async function examineFiles(config: Config): Promise<Finding[]> {
  const { dataDirectory, mongodbUri, auditSigningKey, grpcTls } = config;
  const findings = await folder(dataDirectory);
  if (!(await isClosed(dataDirectory))) findings.push(...(await filesIn(config)));
  if (auditSigningKey !== undefined) findings.push(ok('audit key', 'set by AUDIT_SIGNING_KEY'));
  else if (mongodbUri !== undefined)
    findings.push(
      warn('audit key', 'each instance signs with a key of its own: set the same AUDIT_SIGNING_KEY on all of them'),
    );
  if (grpcTls !== undefined) findings.push(...(await certificates(grpcTls, mongodbUri !== undefined)));
  return findings;
}

/** Examines what is in the data directory. */
async function filesIn({ dataDirectory, mongodbUri, issuer, auditSigningKey }: Config): Promise<Finding[]> {
  const findings: Finding[] = [];
  if (mongodbUri === undefined)
    findings.push(...(await rights('data', join(dataDirectory, DATABASE_FILE))), ...(await room(dataDirectory)));
  if (auditSigningKey === undefined)
    findings.push(...(await keyFile('audit key', join(dataDirectory, AUDIT_KEY_FILE))));
  findings.push(...(await lastCheckpoint(join(dataDirectory, CHECKPOINT_FILE))));
  if (issuer === undefined) findings.push(...(await keyFile('token key', join(dataDirectory, DEVELOPMENT_KEY_FILE))));
  return findings;
}

/** Whether this user may not look into a folder, which others have closed to it. */
const isClosed = (path: string): Promise<boolean> =>
  stat(`${path}/.`).then(
    () => false,
    ({ code }) => code === 'EACCES',
  );

/** Examines the data directory, in which keys are made on first use. */
async function folder(path: string): Promise<Finding[]> {
  const unusable = fail('data', `DATA_DIR ${path} is no folder that this user may write to: set DATA_DIR to one`);
  try {
    const found = await statOf(path);
    if (found === undefined) return [warn('data', `DATA_DIR ${path} does not exist: the first start makes it`)];
    if (!found.isDirectory()) return [unusable];
    await access(path, constants.W_OK | constants.X_OK);
  } catch {
    return [unusable];
  }
  return rights('data', path);
}

/** Examines who may read a file or directory. Empty if it does not exist. */
async function rights(subject: string, path: string): Promise<Finding[]> {
  const found = await statOf(path);
  if (found === undefined) return [];
  const others = found.mode & OTHERS;
  const wanted = found.isDirectory() ? '700' : '600';
  const user = process.geteuid?.();
  if (others !== 0 && found.isDirectory() && found.uid === ROOT && user !== ROOT)
    return [warn(subject, `${path} belongs to root and is accessible to other users: ${OWN_FOLDER_ADVICE}`)];
  if (user !== undefined && found.uid !== user)
    return [
      warn(
        subject,
        `${path} belongs to user ${found.uid}, but you are user ${user}: run this as the user of the service`,
      ),
    ];
  if (others !== 0 && found.isDirectory() && !isOfService(path))
    return [warn(subject, `${path} has other files too, and is accessible to other users: ${OWN_FOLDER_ADVICE}`)];
  if (others !== 0) return [fail(subject, `${path} is accessible to other users: chmod ${wanted} ${path}`)];
  return [ok(subject, `only its owner can access ${path}`)];
}

async function keyFile(subject: string, path: string): Promise<Finding[]> {
  if ((await statOf(path)) === undefined) return [ok(subject, `${path} will be generated on first use`)];
  try {
    if (ed25519KeyOf(await readText(path)) === undefined) throw new Error('it is not an Ed25519 private key');
  } catch (error) {
    const cure =
      (error as NodeJS.ErrnoException).code === 'EACCES'
        ? 'run this as the user of the service, and give that user the right to read the file'
        : 'restore the key from a backup';
    return [fail(subject, `${path} cannot be used: ${reasonOf(error)}; ${cure}`)];
  }
  return rights(subject, path);
}

/** A command that signs leaves a file of its user, whom the service may not be. */
async function lastCheckpoint(path: string): Promise<Finding[]> {
  if ((await statOf(path)) === undefined) return [];
  try {
    await readText(path);
    return [];
  } catch (error) {
    return [
      fail(
        'checkpoint',
        `${path} cannot be read: ${reasonOf(error)}; nothing is signed until it is: run this as the user of the service, and give that user the file`,
      ),
    ];
  }
}

async function room(directory: string): Promise<Finding[]> {
  try {
    const { bavail, bsize } = await statfs(directory);
    const bytes = bavail * bsize;
    const message = `${Math.floor(bytes / 1024 ** 2)} MiB free on the disk of ${directory}`;
    if (bytes < NO_ROOM) return [fail('disk', `${message}: free disk space, or adds and deletes will be refused`)];
    return [bytes < LITTLE_ROOM ? warn('disk', `${message}: free disk space`) : ok('disk', message)];
  } catch {
    // The directory does not exist; the store's finding says so.
    return [];
  }
}

async function certificates(grpcTls: NonNullable<Config['grpcTls']>, hasOthers: boolean): Promise<Finding[]> {
  const { certificate: path } = grpcTls;
  try {
    const { leaf } = readCertificates(grpcTls);
    if (leaf.validFromDate.getTime() > Date.now())
      return [fail('gRPC TLS', `the certificate in ${path} is not valid before ${leaf.validFrom}: check the clock`)];
    const left = leaf.validToDate.getTime() - Date.now();
    if (left <= 0) return [fail('gRPC TLS', `the certificate in ${path} expired on ${leaf.validTo}: renew it`)];
    const message = `the certificate in ${path} is valid until ${leaf.validTo}`;
    const validity = left < RENEWAL_PERIOD ? warn('gRPC TLS', `${message}: renew it`) : ok('gRPC TLS', message);
    const refusal = hasOthers ? await refusalAsClient(grpcTls) : undefined;
    return refusal === undefined ? [validity] : [validity, warn('gRPC TLS', refusal)];
  } catch (error) {
    return [fail('gRPC TLS', reasonOf(error))];
  }
}

const statOf = (path: string) =>
  stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
