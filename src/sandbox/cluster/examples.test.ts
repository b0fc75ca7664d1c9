import { expect, test } from 'vitest'
import { stringAt } from '../../lib/json.ts'
import { decodeEndpointSlice } from '../../resources/endpoint-slice.ts'
import { decodeService } from '../../resources/service.ts'
import { readExamples } from './cluster.ts'

const manifests = await readExamples()

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
