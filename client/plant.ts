import type { Json } from './json.ts';

/** A plant. */
export interface Plant {
  /** Any int64. */
  readonly id: bigint;
  readonly name: string;
  /** Absent and empty are different. */
  readonly tag?: string;
}

/** A plant to add. A number must be a safe integer. */
export interface NewPlant {
  readonly id: bigint | number;
  readonly name: string;
  readonly tag?: string | undefined;
}

/** An exact integer. Throws RangeError for a number that is not a safe integer, TypeError for any other type. */
export function exactInteger(name: string, value: bigint | number): bigint {
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value === 'number')
    throw new RangeError(`${name} is ${value}, which is not an exact integer; use bigint for ids and positions`);
  throw new TypeError(value === undefined ? `${name} is missing` : noInteger(name, value));
}

function noInteger(name: string, value: unknown): string {
  const mustBe = `${name} must be a bigint or an integer, and is`;
  if (typeof value !== 'string') return `${mustBe} ${value}`;
  const text = JSON.stringify(value);
  return `${mustBe} the string ${text}${/^-?\d+$/.test(value) ? `; pass BigInt(${text})` : ''}`;
}

/** The JSON text of a plant to add, with all digits of its id. Only members that are set: JavaScript may forget one. */
export function newPlantJson(plant: NewPlant): string {
  if (plant === undefined) throw new TypeError('plant is missing');
  const { id, name, tag } = plant;
  // The first 0 is the id's.
  return JSON.stringify({ id: 0, name, tag }).replace('0', `${exactInteger('id', id)}`);
}

/** A member of an object. Throws TypeError if the value is not an object, or the member has another type. */
export function member<Value extends bigint | string>(value: Json | undefined, name: string, type: string): Value {
  const found = (value as { readonly [key: string]: Json } | null | undefined)?.[name];
  if (typeof found !== type) throw new TypeError(`the answer has no ${type} ${name}`);
  return found as Value;
}

/** A plant in the full view. Throws TypeError if the value is not one. */
export function plantOf(value: Json): Plant {
  const plant = { id: member<bigint>(value, 'id', 'bigint'), name: member<string>(value, 'name', 'string') };
  const { tag } = value as { readonly tag?: Json };
  return typeof tag === 'string' ? { ...plant, tag } : plant;
}
