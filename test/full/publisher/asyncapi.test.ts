import { readFileSync } from 'node:fs';
import specs from '@asyncapi/specs';
import { Ajv, type AnySchema, type ValidateFunction } from 'ajv';
import { default as addFormats } from 'ajv-formats';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { DomainEvent } from '../../../src/domain/events.ts';
import { plantFields } from '../../../src/domain/plant.ts';
import type { LoggedEvent } from '../../../src/log/event/event.ts';
import { eventMessage } from '../../../src/publisher/message.ts';
import { loggedArbitrary } from '../../support/arbitraries.ts';
import { encoded } from '../../support/encoded.ts';
import { commitmentOf } from '../../support/events.ts';

type MessageName = DomainEvent['type'];

/** An OwnerErased event whose erasure is not complete. */
const erasing = (logged: LoggedEvent, owner: string): LoggedEvent =>
  logged.type === 'OwnerErased'
    ? { ...logged, erases: { owner, key: new Uint8Array(16), isCleared: false, isPublished: false } }
    : logged;

const document = parse(readFileSync('docs/asyncapi.yaml', 'utf8'));
const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(document, 'asyncapi.yaml');

const schemaOf = (name: MessageName, part: 'headers' | 'payload'): ValidateFunction =>
  ajv.compile({ $ref: `asyncapi.yaml#/components/messages/${name}/${part}` });
const schemasOf = (part: 'headers' | 'payload') => ({
  PlantAdded: schemaOf('PlantAdded', part),
  PlantDeleted: schemaOf('PlantDeleted', part),
  OwnerErased: schemaOf('OwnerErased', part),
});
const headersOf = schemasOf('headers');
const payloadOf = schemasOf('payload');
const keySchema = ajv.compile({ $ref: 'asyncapi.yaml#/components/schemas/Key' });

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** What the schema says about a value, as a list of complaints. */
const complaints = (validate: ValidateFunction, value: unknown) => (validate(value) ? [] : validate.errors);

test('the document is AsyncAPI 3', () => {
  const metaSchema = new Ajv({ strict: false, validateFormats: false }).compile(
    specs.schemasWithoutId['3.0.0'] as AnySchema,
  );
  expect(complaints(metaSchema, document)).toEqual([]);
  expect(metaSchema({ ...document, channels: { events: { messages: 7 } } })).toBe(false);
});

test.each(['PlantAdded', 'PlantDeleted', 'OwnerErased'] as const)(
  '%s has headers that are an object, as AsyncAPI demands, and a payload that generators can name',
  (name) => {
    const { messages, schemas } = document.components;
    expect(messages[name].headers.type).toBe('object');
    expect(messages[name].payload).toEqual({ $ref: `#/components/schemas/${name}` });
    expect(schemas[name].title).toBe(name);
  },
);

test('any event makes a message that the document describes', () => {
  fc.assert(
    fc.property(loggedArbitrary, (logged) => {
      fc.pre(logged.event?.type !== 'OwnerErased' || logged.event.erased > 0);
      const message = eventMessage(erasing(logged, 'alice/é'));
      expect(message === undefined).toBe(logged.event === undefined);
      if (message === undefined) return;
      const { key, value, headers } = message;
      const { type } = logged;
      expect(complaints(keySchema, key)).toEqual([]);
      expect(complaints(headersOf[type], headers)).toEqual([]);
      expect(complaints(payloadOf[type], JSON.parse(value))).toEqual([]);
      const { Headers, [type]: payload } = document.components.schemas;
      expect(Object.keys(Headers.properties)).toEqual(expect.arrayContaining(Object.keys(headers)));
      expect(Object.keys(payload.properties)).toEqual(expect.arrayContaining(Object.keys(JSON.parse(value))));
    }),
  );
});

test('an OwnerErased event of which nobody knows whom it erased makes no message', () => {
  fc.assert(
    fc.property(loggedArbitrary, (logged) => {
      fc.pre(logged.type === 'OwnerErased');
      expect(eventMessage(logged)).toBeUndefined();
    }),
  );
});

test.each(['PlantAdded', 'PlantDeleted', 'OwnerErased'] as const)(
  'the document describes nothing that %s does not have',
  (name) => {
    const [example] = document.components.messages[name].examples;
    const { owner, actor, plantId, erased } = example.payload;
    const subject = Buffer.from(example.headers['plantstore-subject'] ?? '', 'hex');
    const ofPlant = () => ({ owner, plantId: BigInt(plantId), ...plantFields(example.payload) });
    const about = name === 'OwnerErased' ? { erased, subject } : ofPlant();
    const event = {
      type: name,
      ...about,
      actor,
      issuer: example.headers['plantstore-issuer'],
      traceparent: example.headers.traceparent,
      idempotencyKey: example.headers['plantstore-idempotency-key'],
    } as DomainEvent;
    const salt = Buffer.from(example.headers['plantstore-salt'], 'hex');
    const logged = encoded({
      position: Number(example.headers['plantstore-position']),
      eventId: example.headers.ce_id,
      time: Date.parse(example.headers.ce_time),
      type: name,
      event,
      salt,
      commitment: Buffer.from(example.headers['plantstore-commitment'], 'hex'),
      hash: Buffer.from(example.headers['plantstore-hash'], 'hex'),
    });
    const message = eventMessage(erasing(logged, owner))!;
    expect(hex(commitmentOf(event, salt))).toBe(example.headers['plantstore-commitment']);
    expect(message.headers).toEqual(example.headers);
    expect(JSON.parse(message.value)).toEqual(example.payload);
    const { Headers, [name]: payload } = document.components.schemas;
    // Nobody gives an erasure an idempotency key, and nothing else a subject.
    const foreign = name === 'OwnerErased' ? 'plantstore-idempotency-key' : 'plantstore-subject';
    const names = Object.keys(Headers.properties).filter((header) => header !== foreign);
    expect(names).toEqual(Object.keys(example.headers));
    expect(Object.keys(payload.properties)).toEqual(Object.keys(example.payload));
  },
);

test('a message that lacks a header or has another type is not what the document describes', () => {
  const [{ headers, payload }] = document.components.messages.PlantAdded.examples;
  for (const name of document.components.schemas.Headers.required)
    expect(headersOf.PlantAdded({ ...headers, [name]: undefined })).toBe(false);
  expect(headersOf.PlantDeleted(headers)).toBe(false);
  expect(headersOf.PlantAdded({ ...headers, traceparent: headers.traceparent.slice(1) })).toBe(false);
  expect(payloadOf.PlantAdded({ ...payload, plantId: '7' })).toBe(false);
});
