import { expect, test } from 'vitest'
import { ip, service, serviceKey, servicePort } from '../../../forwarding/testing/fixtures.ts'
import type { ObjectKey, Refusal } from '../../../modes/mode.ts'
import type { Service } from '../../../resources/types.ts'
import { Conditions } from '../../../telemetry/health/conditions.ts'
import { createMetrics } from '../../../telemetry/metrics/metrics.ts'
import type { Binding } from '../../config/configuration.ts'
import { configuration, recordingLog } from '../../testing/wiring.ts'
import { type BindingFacts, reviewBindings, reviewRefusals } from './binding-conditions.ts'

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
  ['the Service is headless or another proxy’s', binding(), { ...CART, clusterIPs: [] }],
  ['the Service is headless or another proxy’s', binding(), { ...CART, proxyName: 'other' }],
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

test('a failed bind blocks readiness until it succeeds, any other refusal does not', () => {
  const conditions = newConditions()
  const review = (refusals: Readonly<Record<string, Refusal>>) => {
    const entries = Object.entries(refusals)
    const failures = entries.map(([key, refusal]) => [key as ObjectKey, { refusal }] as const)
    reviewRefusals(conditions, new Map(failures))
    return conditions.current()
  }
  const taken = { code: 'NP_USERSPACE_LISTEN', message: 'cannot listen on 127.0.0.1:80: EACCES' }
  const other = { code: 'NP_X', message: 'no room' }
  expect(review({ a: taken, b: taken, c: other, d: other })).toEqual([
    {
      blocksReadiness: true,
      message: `addresses of userspace.bindMap are not served: ${taken.message}; free them or choose others (it is tried again)`,
    },
    {
      blocksReadiness: false,
      message:
        'the kernel refuses c and others (NP_X: no room); the row of the code in docs/errors.md has the remedy',
    },
  ])
  expect(review({ a: taken })).toHaveLength(1)
  expect(review({})).toEqual([])
})
