import { View } from '../../gen/plantstore/v1/plant_pb.ts';
import { InvalidFieldError } from '../domain/errors.ts';
import { setFields } from '../domain/plant.ts';
import type { PlantRow } from '../log/store.ts';

/** Local names of the fields of Plant that the basic view lacks. */
export const NOT_IN_BASIC: readonly string[] = ['id'];

/** Whether a request's view is the full one. Throws INVALID_FIELD for an unknown view. */
export function isFull(view: View): boolean {
  if (view === View.FULL) return true;
  if (view === View.UNSPECIFIED || view === View.BASIC) return false;
  throw new InvalidFieldError('view', 'must be VIEW_BASIC or VIEW_FULL');
}

/** The fields of a plant in the basic view. */
export const basicPlant = setFields;

/** The fields of a plant in the full view. */
export const fullPlant = (row: PlantRow) => ({ ...setFields(row), id: row.id });

/** Caches what is derived from immutable objects, for as long as each object lives. */
export function derivedOnce<Source extends object, Derived>(
  derive: (source: Source) => Derived,
): (source: Source) => Derived {
  const known = new WeakMap<Source, Derived>();
  return (source) => {
    let derived = known.get(source);
    if (derived === undefined) {
      derived = derive(source);
      known.set(source, derived);
    }
    return derived;
  };
}
