import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { endpointSlices, sliceFromV1beta1, sliceToV1beta1 } from '../kinds/endpoint-slice.ts'
import { services } from '../kinds/service/resource.ts'
import { type ServedVersion, servedVersionsOf } from '../resource/resource.ts'
import { createWireEncoder, decodeStored, encodeStored } from './codec.ts'

const [served] = servedVersionsOf(services) as [ServedVersion]

const document = fc.dictionary(fc.string(), fc.jsonValue()).map((fields) => ({
  ...(fields as JsonObject),
  metadata: { name: 'x' },
}))

test('whatever an object holds, it comes back with its type and revision', () => {
  fc.assert(
    fc.property(document, fc.integer({ min: 1 }), (object, revision) => {
      const value = encodeStored({ ...object, kind: 'Service', apiVersion: 'v1' })
      const expected = JSON.parse(JSON.stringify(object)) as JsonObject
      delete expected['kind']
      delete expected['apiVersion']
      const metadata = { resourceVersion: String(revision), name: 'x' }
      expect(decodeStored({ value, modRevision: revision })).toEqual({ ...expected, metadata })
      const wire = createWireEncoder(served)
      expect(JSON.parse(wire.object(value, revision).toString())).toEqual({
        kind: 'Service',
        apiVersion: 'v1',
        ...expected,
        metadata,
      })
      expect(JSON.parse(wire.item(value, revision).toString())).toEqual({ ...expected, metadata })
    }),
  )
})

test('fields that look like numbers cannot displace the metadata', () => {
  const value = encodeStored({ 0: 'zero', metadata: { 1: 'one', name: 'x' } })
  expect(value.toString()).toBe('{"metadata":{"1":"one","name":"x"},"0":"zero"}')
  expect(createWireEncoder(served).item(value, 7).toString()).toBe(
    '{"metadata":{"resourceVersion":"7","1":"one","name":"x"},"0":"zero"}',
  )
})

test('what was never stored has no revision to show', () => {
  const value = encodeStored({ metadata: { name: 'x' }, spec: {} })
  expect(createWireEncoder(served).item(value, 0).toString()).toBe(value.toString())
  expect(decodeStored({ value, modRevision: 0 })).toEqual({ metadata: { name: 'x' }, spec: {} })
})

test('the old served version of a slice converts both ways without loss', () => {
  const endpoint = fc.record(
    {
      addresses: fc.array(fc.ipV4(), { minLength: 1, maxLength: 2 }),
      nodeName: fc.constantFrom('n1', 'n2'),
      zone: fc.constantFrom('z1', 'z2'),
      deprecatedTopology: fc.constant({ rack: 'r1' }),
    },
    { requiredKeys: ['addresses'] },
  )
  fc.assert(
    fc.property(fc.array(endpoint), (endpoints) => {
      const slice = { metadata: { name: 's' }, endpoints } as JsonObject
      expect(sliceFromV1beta1(sliceToV1beta1(slice))).toEqual(slice)
    }),
  )
})

test('a served version that converts serves converted bytes', () => {
  const old = servedVersionsOf(endpointSlices).find((one) => one.version === 'v1beta1')!
  const value = encodeStored({ metadata: { name: 's' }, endpoints: [{ addresses: [], zone: 'z' }] })
  expect(JSON.parse(createWireEncoder(old).object(value, 3).toString())).toEqual({
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1beta1',
    metadata: { resourceVersion: '3', name: 's' },
    endpoints: [{ addresses: [], topology: { 'topology.kubernetes.io/zone': 'z' } }],
  })
})
