import { create } from '@bufbuild/protobuf';
import { GetReceiptRequestSchema } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { checkReceipt } from '../../../src/audit/check-receipt.ts';
import { createScopePolicy } from '../../../src/auth/principal.ts';
import { implementReceipts } from '../../../src/plants/receipts.ts';
import { Semaphore } from '../../../src/semaphore.ts';
import { ALICE } from '../../support/principal.ts';
import type { Instance } from '../instance.ts';
import { Violation } from '../judges/violation.ts';
import type { World } from '../world.ts';
import { toldErasure } from './plants.ts';

/** As many as the service has. */
const PROOFS = { permits: 4, share: 2, maxWaiting: 256 };

/** Milliseconds after which a checkpoint holds what was acknowledged. */
const OLD = 15_000;

/** Asks an instance for a checkpoint, and judges it. */
export function checkpoint(world: World, { process, service, disk }: Instance): void {
  if (service === undefined) return;
  const { witnesses, plan } = world;
  // Witnesses may take as long as they like.
  const old = witnesses === undefined ? world.commands.acknowledgedAt(world.scheduler.now - OLD) : 0;
  world.call(process, async () => {
    try {
      const signed = await service.checkpoints.latest();
      world.tell(process.name, `signs ${signed.size} events`);
      world.judge(() => world.proofs.signed(service, signed, old, witnesses !== undefined));
      if (witnesses === undefined) world.judge(() => world.proofs.kept(disk, signed));
      else world.judge(() => world.proofs.cosigned(signed, witnesses.verifiers, plan.witnesses!));
    } catch (error) {
      world.tell(process.name, `signs nothing: ${(error as Error).message}`);
      world.judge(() => world.proofs.refused(error));
    }
  });
}

/**
 * Milliseconds after which a checkpoint is cosigned, once all witnesses answer: longer than one that was away is left
 * alone.
 */
const COSIGNED = 130_000;

/** Once all witnesses answer, every instance serves a checkpoint of the whole log. */
export async function untilCosigned(world: World): Promise<void> {
  if (world.witnesses === undefined) return;
  world.tell('witnesses', 'all answer');
  world.witnesses.heal();
  const end = world.scheduler.now + COSIGNED;
  for (const { process, service } of world.instances) {
    let size = 0;
    while (size < world.truth.end && world.violation === undefined) {
      if (world.scheduler.now > end)
        return world.judge(() => {
          throw new Violation('proof', `${process.name} serves a checkpoint of ${size} events of ${world.truth.end}`);
        });
      process.do(
        () =>
          void service!.checkpoints.latest().then(
            (served) => (size = served.size),
            () => {},
          ),
      );
      await world.pass(1_000);
    }
  }
}

/** Asks every instance for a checkpoint. */
export async function asksCheckpoints(world: World): Promise<void> {
  for (const instance of world.instances) checkpoint(world, instance);
  await world.pass(1_000);
}

/** Asks an instance for the receipt of the owner's last write that was acknowledged, and judges it. */
export function receipt(world: World, { process, service }: Instance, owner: string): void {
  const positions = [...world.commands.sent.values()].flatMap(({ command, outcome, position, isLost }) =>
    command.owner === owner && outcome === 'applied' && !isLost ? [position!] : [],
  );
  const position = positions.at(-1);
  if (service === undefined || position === undefined) return;
  const head = () => service.log.head();
  const receipts = implementReceipts({
    ...service,
    head,
    scopes: createScopePolicy([]),
    proofs: new Semaphore(PROOFS),
  });
  const request = create(GetReceiptRequestSchema, { position: BigInt(position) });
  const { from } = world.freshness.of(process);
  world.call(process, async () => {
    try {
      const call = { principal: { ...ALICE, owner }, signal: { aborted: false } };
      const { receipt: text } = await receipts.getReceipt(request, call);
      world.tell(process.name, `gives a receipt for ${position}`);
      world.judge(() => world.proofs.receipt(position, checkReceipt(text, world.key), toldErasure(world, owner)));
    } catch (error) {
      world.tell(process.name, `gives no receipt for ${position}: ${(error as Error).message}`);
      world.judge(() => world.proofs.refused(error, owner, position <= from ? position : 0));
    }
  });
}
