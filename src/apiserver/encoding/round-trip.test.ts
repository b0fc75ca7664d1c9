import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json, JsonObject } from '../../lib/json.ts'
import { type Field, fieldsOf, type JsonForm, jsonFormOf, messageOf } from '../schema/schema.ts'
import { decodeProtobuf } from './decode-protobuf.ts'
import { encodeBody } from './testing/test-encoder.ts'

const kinds = [
  ['v1', 'Service'],
  ['v1', 'Pod'],
  ['v1', 'Node'],
  ['v1', 'Event'],
  ['v1', 'Secret'],
  ['apps/v1', 'Deployment'],
  ['apps/v1', 'DaemonSet'],
  ['apps/v1', 'ReplicaSet'],
  ['apps/v1', 'StatefulSet'],
  ['apps/v1', 'ControllerRevision'],
  ['batch/v1', 'Job'],
  ['policy/v1', 'PodDisruptionBudget'],
  ['coordination.k8s.io/v1', 'Lease'],
  ['networking.orch.io/v1', 'NetworkPolicy'],
  ['authentication.k8s.io/v1', 'TokenReview'],
  ['discovery.k8s.io/v1', 'EndpointSlice'],
  ['v1', 'DeleteOptions'],
] as const

test.each(kinds)('what is encoded is decoded: %s %s', (apiVersion, kind) => {
  const objects = objectOf(messageOf(apiVersion, kind)!)
  fc.assert(
    fc.property(objects, (fields) => {
      const object = { apiVersion, kind, ...fields }
      expect(decodeProtobuf(encodeBody(object), object)).toEqual(object)
    }),
    { numRuns: 20 },
  )
})

const forms: Readonly<Record<JsonForm, fc.Arbitrary<Json>>> = {
  time: fc.integer({ min: 0, max: 2e9 }).map((at) => `${isoSeconds(at)}Z`),
  'micro-time': fc
    .tuple(fc.integer({ min: 0, max: 2e9 }), fc.nat(999_999))
    .map(([at, micros]) => `${isoSeconds(at)}.${String(micros).padStart(6, '0')}Z`),
  'int-or-string': fc.oneof(fc.integer({ min: 1, max: 65_535 }), fc.string({ minLength: 1 })),
  quantity: fc.nat(999).map((count) => `${count}m`),
  any: fc.dictionary(fc.string(), fc.string()) as fc.Arbitrary<Json>,
  strings: fc.array(fc.string()) as fc.Arbitrary<Json>,
}

const scalars: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  string: fc.string({ minLength: 1, unit: 'grapheme' }),
  bool: fc.constant(true),
  int32: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }).filter((value) => value !== 0),
  int64: fc.maxSafeInteger().filter((value) => value !== 0),
  bytes: fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString('base64')),
}

function isoSeconds(at: number): string {
  return new Date(at * 1000).toISOString().slice(0, 19)
}

function objectOf(message: string): fc.Arbitrary<JsonObject> {
  const fields = [...fieldsOf(message)!.values()]
  const model = Object.fromEntries(fields.map((field) => [field.name, valueOf(field)]))
  return fc.record(model, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<JsonObject>
}

function valueOf({ shape, type }: Field): fc.Arbitrary<Json> {
  const form = jsonFormOf(type)
  const value = form === undefined ? (scalars[type] ?? objectOf(type)) : forms[form]
  if (shape === 'repeated') return fc.array(value, { minLength: 1, maxLength: 2 })
  if (shape === 'map') {
    return fc.dictionary(fc.string(), value, { minKeys: 1, maxKeys: 2, noNullPrototype: true })
  }
  return value
}
