import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { applyDefaults } from './testing/rules-by-kind.ts'

test.each<[Raw, readonly string[]]>([
  [{}, ['Ingress']],
  [{ policyTypes: [] }, ['Ingress']],
  [{ egress: [] }, ['Ingress']],
  [{ egress: [{}] }, ['Ingress', 'Egress']],
  [{ policyTypes: ['Egress'], ingress: [{}] }, ['Egress']],
])('a policy with %j gets the policyTypes %j and a podSelector', (spec, policyTypes) => {
  expect(applyDefaults('NetworkPolicy', { spec })).toMatchObject({
    spec: { podSelector: {}, policyTypes },
  })
})

test('a port without a protocol is TCP, in ingress and egress rules', () => {
  const rule = { ports: [{ port: 53 }, { port: 53, protocol: 'UDP' }] }
  const ports = [
    { port: 53, protocol: 'TCP' },
    { port: 53, protocol: 'UDP' },
  ]
  expect(
    applyDefaults('NetworkPolicy', { spec: { ingress: [rule], egress: [rule] } }),
  ).toMatchObject({ spec: { ingress: [{ ports }], egress: [{ ports }] } })
})
