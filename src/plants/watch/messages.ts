import { addAbortListener } from 'node:events';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type WatchPlantsRequest,
  type WatchPlantsResponse,
  WatchPlantsResponseSchema,
} from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { StreamingCall } from '../../call.ts';
import { InvalidFieldError, type PlantStoreError } from '../../domain/errors.ts';
import type { PlantsService } from '../service.ts';
import { derivedOnce, fullPlant } from '../view.ts';
import type { Step } from './channel.ts';

/** WatchPlants for gRPC and Connect: the steps as messages, until the caller leaves. Rejects with PlantStoreError. */
export async function* watchPlants(
  plants: Pick<PlantsService, 'watchPlants'>,
  { afterPosition }: WatchPlantsRequest,
  call: StreamingCall,
): AsyncGenerator<WatchPlantsResponse> {
  if (afterPosition !== undefined && afterPosition < 0n)
    throw new InvalidFieldError('after_position', 'must not be negative');
  const { signal } = call;
  let news = Promise.withResolvers<void>();
  let end: PlantStoreError | undefined;
  const watch = plants.watchPlants(call, {
    // Everything that was taken is sent before more is taken.
    unsent: 0,
    setHeld: (bytes) => call.setHeld?.(bytes),
    news: () => news.resolve(),
    quiet: () => {},
    ended: (why) => {
      end = why;
      news.resolve();
    },
  });
  using _left = addAbortListener(signal, () => {
    watch.close();
    news.resolve();
  });
  try {
    const beginning = await watch.begin(afterPosition === undefined ? undefined : Number(afterPosition));
    call.sendHeaders?.();
    for await (const steps of beginning) for (const step of steps) yield messageOf(step);
    while (!signal.aborted) {
      news = Promise.withResolvers();
      for (const step of watch.take()) yield messageOf(step);
      if (end !== undefined) throw end;
      await news.promise;
    }
  } finally {
    watch.close();
  }
}

/** The message of a step, made and encoded once for all watchers. */
const messageOf = derivedOnce((step: Step) => Object.freeze(create(WatchPlantsResponseSchema, fieldsOf(step))));

function fieldsOf(step: Step): MessageInitShape<typeof WatchPlantsResponseSchema> {
  const position = 'position' in step && step.position !== undefined ? { position: BigInt(step.position) } : {};
  switch (step.type) {
    case 'added':
      return { step: { case: step.type, value: fullPlant(step.plant) }, ...position } as const;
    case 'deleted':
      return { step: { case: step.type, value: { id: step.id } }, ...position } as const;
    case 'ready':
      return { step: { case: step.type, value: {} }, ...position } as const;
    case 'reset':
      return { step: { case: step.type, value: {} } } as const;
  }
}
