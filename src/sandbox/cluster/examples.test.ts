import { expect, test } from 'vitest'
import { stringAt } from '../../lib/json.ts'
import { readPolicy } from '../../networkpolicy/read-policy.ts'
import { decodeEndpointSlice } from '../../resources/endpoint-slice.ts'
import { decodeService } from '../../resources/service.ts'
import { readExamples } from './cluster.ts'

const manifests = await readExamples()

test('the examples of Services decode without a warning', () => {
  const decoders = { Service: decodeService, EndpointSlice: decodeEndpointSlice }
  const decoded = manifests.flatMap((object) => {
    const decode = decoders[stringAt(object, 'kind') as keyof typeof decoders]
    return decode === undefined ? [] : [decode(object)]
  })
  expect(decoded.length).toBeGreaterThanOrEqual(8)
  for (const one of decoded) expect(one).toMatchObject({ ok: true, warnings: [] })
})

test('the example of a NetworkPolicy is read whole', () => {
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy').map(readPolicy)
  expect(policies.map(({ rules }) => rules)).toEqual([
    {
      egress: [
        {
          peers: [
            expect.objectContaining({ kind: 'pods' }),
            expect.objectContaining({ kind: 'block' }),
          ],
          ports: [{ protocol: 'UDP', port: { first: 53, last: 53 } }],
        },
        {
          peers: [expect.objectContaining({ kind: 'block' })],
          ports: [{ protocol: 'TCP', port: { first: 6443, last: 6443 } }],
        },
      ],
    },
  ])
})

test('no two examples want the same address or node port', () => {
  const specs = manifests.filter(({ kind }) => kind === 'Service')
  const ips = specs.map((object) => stringAt(object, 'spec', 'clusterIP'))
  expect(new Set(ips).size).toBe(specs.length)
  const ports = JSON.stringify(specs).match(/"nodePort":\d+/g) ?? []
  expect(ports.length).toBeGreaterThan(3)
  expect(new Set(ports).size).toBe(ports.length)
})
