import { Code, ConnectError } from '@connectrpc/connect';
import { signal } from '@preact/signals';
import type { Record } from '../../../../gen/plantstore/v1/event_pb.ts';
import { may } from '../../access.ts';
import { plants } from '../../api/connect.ts';
import { readStretch } from '../../log/reader.ts';
import type { Proven } from '../../proof/checkpoint.ts';
import { parseRecord } from '../../proof/event.ts';
import { proveEvent } from '../../proof/event-proof.ts';
import { openLog } from '../../proof/log.ts';
import { Memory } from '../../proof/memory.ts';
import { type Findings, NotVerified, type Outcome, outcomeOf } from '../../proof/outcome.ts';
import { parseReceipt, proveReceipt, type TrustedKey } from '../../proof/receipt.ts';
import { httpSource } from '../../proof/source.ts';
import { proveWholeLog } from '../../proof/whole-log.ts';
import { usable } from '../../session.ts';
import { momentOf } from '../../times.ts';

/** Where the service has its log. */
const LOG = '/log';
/** More bytes than a receipt has. */
const MAX_RECEIPT = 1_000_000;

const changes = signal(0);

/** This browser's memory. What shows a part of it shows each change. */
export const memory = new Memory({
  getItem: (name) => {
    void changes.value;
    return localStorage.getItem(name);
  },
  setItem: (name, text) => {
    localStorage.setItem(name, text);
    changes.value++;
  },
});

/** Whether what is remembered cannot be read. */
export function isMemoryDamaged(): boolean {
  try {
    memory.log();
    memory.witnesses();
    return false;
  } catch {
    return true;
  }
}

/** Verifies the event at a position, and its content if the token may see it. */
export const verifyEvent = (position: number, signal: AbortSignal): Promise<Outcome<Proven>> =>
  outcomeOf(async (findings) => {
    const log = await openLog(httpSource(LOG, signal), memory, findings);
    const record =
      position >= 1 && position <= log.checkpoint.size ? await recordAt(position, signal, findings) : undefined;
    return { ...log, record: await proveEvent(log, position, record, findings) };
  });

/** Verifies all events of the log. */
export const verifyWholeLog = (
  signal: AbortSignal,
  onProgress: (events: number, size: number) => void,
): Promise<Outcome<Proven>> =>
  outcomeOf(async (findings) => {
    const log = await openLog(httpSource(LOG, signal), memory, findings);
    const { size } = log.checkpoint;
    onProgress(0, size);
    await proveWholeLog(log, findings, (events) => onProgress(events, size));
    return log;
  });

/** Verifies a receipt with the vkey that the user gave, or else that of the log that this browser trusts. */
export const verifyReceipt = (receipt: Blob, vkey: string): Promise<Outcome<Proven>> =>
  outcomeOf(async (findings) => {
    if (receipt.size > MAX_RECEIPT) throw new NotVerified('This is not a receipt: it is too large.');
    const keyOf = async (origin: string) => given(vkey) ?? (await trusted(origin, findings));
    return proveReceipt(await receipt.text(), keyOf, memory.witnesses(), findings);
  });

const given = (vkey: string): TrustedKey | undefined =>
  vkey === '' ? undefined : { vkey, trust: "That the key is the log's own: you gave it." };

/** The trusted key of the log with this origin. A browser that trusts none yet asks the service for its log. */
async function trusted(origin: string, findings: Findings): Promise<TrustedKey> {
  if (memory.log() === undefined) await openLog(httpSource(LOG), memory, findings).catch(() => {});
  const log = memory.log();
  if (log?.origin !== origin)
    throw new NotVerified(
      `The receipt is from the log ${origin}, whose key this browser does not know. Enter its vkey as Key.`,
    );
  const since = momentOf(log.trustedSince);
  return {
    vkey: log.vkey,
    trust: `That the key is the log's own: this browser has trusted it since ${since}, when it first saw it.`,
  };
}

/** The record at a position, as far as the token may see it. Says which scope is missing. */
async function recordAt(position: number, signal: AbortSignal, findings: Findings): Promise<Record | undefined> {
  try {
    const isUsable = usable.peek() !== undefined;
    if (isUsable && may('plants:audit')) return await auditedRecord(position, signal);
    if (isUsable && may('plants:read')) {
      const { receipt } = await plants.getReceipt({ position: BigInt(position) }, { signal });
      return parseRecord(parseReceipt(receipt).extra);
    }
    findings.unchecked.push(
      'The content of the event: that needs a token of its owner, or one with the scope plants:audit.',
    );
  } catch (error) {
    if (error instanceof NotVerified) throw error;
    signal.throwIfAborted();
    const { code, rawMessage } = ConnectError.from(error);
    findings.unchecked.push(
      code === Code.NotFound
        ? 'The content of the event: it is not one of yours. That needs a token with the scope plants:audit.'
        : `The content of the event: the service does not show it (${rawMessage}).`,
    );
  }
  return undefined;
}

async function auditedRecord(position: number, signal: AbortSignal): Promise<Record> {
  const [record] = await readStretch(BigInt(position - 1), BigInt(position), {}, signal);
  if (record !== undefined) return record;
  throw new NotVerified(`The service shows no event at position ${position}, but its log has one.`);
}
