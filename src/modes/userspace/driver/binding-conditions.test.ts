import { expect, test } from 'vitest'
import { ip, service, serviceKey, servicePort } from '../../../forwarding/testing/fixtures.ts'
import { configuration, recordingLog } from '../../../nodeproxy/testing/wiring.ts'
import type { Service } from '../../../resources/types.ts'
import { Conditions } from '../../../telemetry/health/conditions.ts'
import { createMetrics } from '../../../telemetry/metrics/metrics.ts'
import { type BindingFacts, reviewBindings } from './binding-conditions.ts'
import type { Binding } from './configuration.ts'

const newConditions = () => new Conditions({ ...recordingLog(), metrics: createMetrics() })
const KEY = serviceKey('shop/cart')

function binding(overrides: Partial<Binding> = {}): Binding {
  const { portRef = 'http', ...rest } = overrides
  return { ip: ip('127.0.0.1'), port: 8080, service: KEY, protocol: 'TCP', portRef, ...rest }
}

function reviewed(bindings: BindingFacts['bindings'], known: Service | undefined) {
  const conditions = newConditions()
  const bindMap = Array.isArray(bindings) ? bindings : [binding()]
  const config = configuration({ 'userspace.bindMap': bindMap })
  reviewBindings(conditions, { config, bindings, serviceOf: () => known })
  return conditions.current()
}

const PORTS = [servicePort({ name: 'http', port: 80 }), servicePort({ name: 'admin', port: 81 })]
const CART = service({ key: KEY, ports: PORTS, clusterIPs: [ip('172.30.0.41')] })
const { portRef: _, ...anyPort } = binding()

test.each<readonly [string, Binding, Service | undefined]>([
  ['no such Service', binding(), undefined],
  ['the Service is headless or belongs to another proxy', binding(), { ...CART, clusterIPs: [] }],
  [
    'the Service is headless or belongs to another proxy',
    binding(),
    { ...CART, proxyName: 'other' },
  ],
  ['no such TCP port', binding({ portRef: 'https' }), CART],
  ['no such TCP port', binding({ portRef: '82' }), CART],
  ['no such UDP port', binding({ protocol: 'UDP' }), CART],
  ['no such UDP port', { ...anyPort, protocol: 'UDP' }, CART],
  ['several TCP ports; name one', anyPort, CART],
  ['the Service has no IPv6 address', binding({ ip: ip('::1') }), CART],
])('%s', (fault, of, known) => {
  const [condition, ...more] = reviewed([of], known)
  expect([condition?.blocksReadiness, more]).toEqual([false, []])
  expect(condition?.message).toMatch(
    new RegExp(`^entries of userspace.bindMap serve nothing: \\S+=shop/cart\\S* \\(${fault}\\); `),
  )
})

test.each([
  [binding(), CART],
  [binding({ portRef: '81' }), CART],
  [anyPort, { ...CART, ports: PORTS.slice(0, 1) }],
])('%j serves', (of, known) => {
  expect(reviewed([of], known)).toEqual([])
})

test('of many the first few are shown', () => {
  const many = Array.from({ length: 7 }, (_none, at) => binding({ port: 8080 + at }))
  expect(reviewed(many, undefined)[0]?.message).toMatch(/8084=\S+ \(no such Service\) and 2 more; /)
})

test('a bind map beside redirection is named, in another mode not', () => {
  expect(reviewed('unused', CART)[0]?.message).toMatch(/^userspace.bindMap is not used/)
  expect(reviewed(undefined, CART)).toEqual([])
})
