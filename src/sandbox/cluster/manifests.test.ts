import { expect, test } from 'vitest'
import { stringAt } from '../../lib/json.ts'
import { decodeEndpointSlice } from '../../resources/endpoint-slice.ts'
import { decodeService } from '../../resources/service.ts'
import { parseManifest, readManifests } from './manifests.ts'

const manifests = readManifests()

test('the examples are Services and EndpointSlices that decode without a warning', () => {
  expect(manifests.length).toBeGreaterThanOrEqual(8)
  for (const object of manifests) {
    const decode = object['kind'] === 'Service' ? decodeService : decodeEndpointSlice
    expect(decode(object)).toMatchObject({ ok: true, warnings: [] })
  }
})

test('no two examples want the same address or node port', () => {
  const specs = manifests.filter(({ kind }) => kind === 'Service')
  const ips = specs.map((object) => stringAt(object, 'spec', 'clusterIP'))
  expect(new Set(ips).size).toBe(specs.length)
  const ports = JSON.stringify(specs).match(/"nodePort":\d+/g) ?? []
  expect(ports.length).toBeGreaterThan(3)
  expect(new Set(ports).size).toBe(ports.length)
})

test.each([
  ['kind: Service\nmetadata: {name: x}', 'apiVersion is missing'],
  ['apiVersion: v1\nkind: Service', 'metadata.name is missing'],
  ['- 1', 'a document is no object'],
  ['a: [1', 'x.yaml: '],
])('refuses %j', (text, words) => {
  expect(() => parseManifest(text, 'x.yaml')).toThrow(words)
})
