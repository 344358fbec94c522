import { create } from '@bufbuild/protobuf';
import { GetReceiptRequestSchema } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { checkReceipt } from '../../../src/audit/check-receipt.ts';
import { createScopePolicy } from '../../../src/auth/scopes.ts';
import { Receipts } from '../../../src/plants/receipts.ts';
import { Semaphore } from '../../../src/semaphore.ts';
import { ALICE } from '../../support/principal.ts';
import type { Instance } from '../instance.ts';
import type { World } from '../world.ts';

/** As many as the service has. */
const PROOFS = { permits: 4, share: 2, maxWaiting: 256 };

/** Milliseconds after which a checkpoint holds what was acknowledged. */
const OLD = 15_000;

/** Asks an instance for a checkpoint, and judges it. */
export function checkpoint(world: World, { process, service }: Instance): void {
  if (service === undefined) return;
  const old = world.commands.acknowledgedAt(world.scheduler.now - OLD);
  world.call(process, async () => {
    try {
      const signed = await service.checkpoints.latest();
      world.tell(process.name, `signs ${signed.size} events`);
      world.judge(() => world.proofs.signed(service, signed, old));
    } catch (error) {
      world.tell(process.name, `signs nothing: ${(error as Error).message}`);
      world.judge(() => world.proofs.refused(error));
    }
  });
}

/** Asks an instance for the receipt of the owner's last write that was acknowledged, and judges it. */
export function receipt(world: World, { process, service }: Instance, owner: string): void {
  const positions = [...world.commands.sent.values()].flatMap(({ command, outcome, position }) =>
    command.owner === owner && outcome === 'applied' ? [position!] : [],
  );
  const position = positions.at(-1);
  if (service === undefined || position === undefined) return;
  const receipts = new Receipts({ ...service, scopes: createScopePolicy([]), proofs: new Semaphore(PROOFS) });
  const request = create(GetReceiptRequestSchema, { position: BigInt(position) });
  world.call(process, async () => {
    try {
      const call = { principal: { ...ALICE, owner }, signal: { aborted: false } };
      const { receipt: text } = await receipts.getReceipt(request, call);
      world.tell(process.name, `gives a receipt for ${position}`);
      world.judge(() => world.proofs.receipt(position, checkReceipt(text, world.vkey)));
    } catch (error) {
      world.tell(process.name, `gives no receipt for ${position}: ${(error as Error).message}`);
      world.judge(() => world.proofs.refused(error, owner, position));
    }
  });
}
