import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from 'vitest';
import { ListPlantsAsOfResponse_OwnedPlantSchema } from '../../gen/plantstore/v1/audit_service_pb.ts';
import { ContentSchema, PlantAddedSchema, PlantDeletedSchema } from '../../gen/plantstore/v1/event_pb.ts';
import { NewPlantSchema, PlantSchema } from '../../gen/plantstore/v1/plant_pb.ts';
import { CONTENT_FIELDS, DATA_NUMBER } from '../../src/domain/events.ts';
import { PLANT_FIELDS } from '../../src/domain/plant.ts';

const KINDS = { int64: ScalarType.INT64, text: ScalarType.STRING, bytes: ScalarType.BYTES };
const DATA = { PlantAdded: PlantAddedSchema, PlantDeleted: PlantDeletedSchema, OwnerErased: undefined };

const fieldOf = ({ fields }: DescMessage, name: string): DescField | undefined =>
  fields.find(({ localName }) => localName === name);

/** Whether an empty value of the field differs from an absent one. */
const hasPresence = (field: DescField | undefined) => field?.presence === FeatureSet_FieldPresence.EXPLICIT;

describe.each(CONTENT_FIELDS)('the member $name of an event', ({ name, part, number, kind, of, ...row }) => {
  test.each(of)('is a field of event.proto in %s, with this number, kind and presence', (type) => {
    const message = part === 'content' ? ContentSchema : DATA[type]!;
    const field = fieldOf(message, name === 'plantId' ? 'id' : name);
    expect(field).toMatchObject({ number, scalar: KINDS[kind] });
    expect(hasPresence(field)).toBe(row.hasPresence ?? false);
  });
});

test.each(['PlantAdded', 'PlantDeleted'] as const)('%s has its number in Content, and no field but these', (type) => {
  const data = ContentSchema.fields.find(({ number }) => number === DATA_NUMBER[type]);
  expect(data?.message?.name).toBe(type);
  const rows = CONTENT_FIELDS.filter(({ part, of }) => part === 'data' && of.includes(type));
  expect(DATA[type].fields.map(({ number }) => number)).toEqual(rows.map(({ number }) => number));
});

test.each(PLANT_FIELDS)('the text $name is a field of every message of a plant', ({ name, isRequired }) => {
  for (const message of [PlantSchema, NewPlantSchema, ListPlantsAsOfResponse_OwnedPlantSchema]) {
    const field = fieldOf(message, name);
    expect(field, message.name).toMatchObject({ scalar: ScalarType.STRING });
    expect(isRequired || hasPresence(field), message.name).toBe(true);
  }
});
