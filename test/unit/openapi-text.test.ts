import { createRegistry } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { FIELD_TEXTS, METHODS } from '../../scripts/openapi/text.ts';
import { httpRulesOf } from '../../src/transport/rest/http-rule.ts';

test('every method that REST exposes is described, and no other', () => {
  const exposed = httpRulesOf(PlantStoreService).map(({ method }) => `${method.parent.typeName}.${method.name}`);
  expect(Object.keys(METHODS).sort()).toEqual(exposed.sort());
});

test('every field that is described exists', () => {
  const registry = createRegistry(PlantStoreService.file, ...PlantStoreService.file.dependencies);
  for (const name of Object.keys(FIELD_TEXTS)) {
    const [, message, field] = /^(.*)\.(\w+)$/.exec(name)!;
    expect(
      registry.getMessage(message!)?.fields.map((found) => found.name),
      name,
    ).toContain(field);
  }
});
