import { expect, test } from 'vitest'
import { decodeEndpoints } from './endpoints.ts'
import type { Raw } from './reader.ts'
import { placesOf, problemsOf, rawEndpoints, sound, valueOf } from './testing/raw-objects.ts'

const PLAIN = { terminating: false, zoneHints: undefined, nodeHints: undefined, weight: 1 }
const READY = { nodeName: '', ready: true, serving: true, ...PLAIN }
const NOT_READY = { nodeName: '', ready: false, serving: false, ...PLAIN }

test('projects Endpoints to what a node needs', () => {
  const subsets = [
    {
      addresses: [{ ip: '10.0.0.1', nodeName: 'node-1' }, { ip: 'FD00::1' }],
      notReadyAddresses: [{ ip: '10.0.0.2' }],
      ports: [
        { name: 'http', port: 8080 },
        { port: 53, protocol: 'UDP' },
      ],
    },
    { addresses: [{ ip: '10.0.0.3' }], ports: [{ name: 'http', port: 9090 }] },
  ]
  const annotations = {
    'endpoints.kubernetes.io/last-change-trigger-time': '2030-01-02T03:04:05Z',
    'service.orch.io/weight': '{"10.0.0.3": 9}',
  }
  const ports = [
    { name: 'http', protocol: 'TCP', port: 8080 },
    { name: '', protocol: 'UDP', port: 53 },
  ]
  expect(sound(decodeEndpoints(rawEndpoints({ metadata: { annotations }, subsets })))).toEqual({
    name: 'shop/cart',
    service: 'shop/cart',
    groups: [
      {
        family: 4,
        ports,
        endpoints: [
          { ip: '10.0.0.1', ...READY, nodeName: 'node-1' },
          { ip: '10.0.0.2', ...NOT_READY },
        ],
      },
      { family: 6, ports, endpoints: [{ ip: 'fd00::1', ...READY }] },
      {
        family: 4,
        ports: [{ name: 'http', protocol: 'TCP', port: 9090 }],
        endpoints: [{ ip: '10.0.0.3', ...READY, weight: 9 }],
      },
    ],
    triggeredAt: Date.UTC(2030, 0, 2, 3, 4, 5),
  })
})

test.each<[string, Raw]>([
  ['no subsets', rawEndpoints({ subsets: undefined })],
  ['null subsets', rawEndpoints({ subsets: null })],
  ['empty subsets', rawEndpoints({ subsets: [] })],
  ['a subset without addresses', rawEndpoints({ subsets: [{ ports: [{ port: 1 }] }] })],
])('%s is a Service without endpoints', (_, raw) => {
  expect(sound(decodeEndpoints(raw))).toMatchObject({ service: 'shop/cart', groups: [] })
})

test.each(['service.kubernetes.io/headless', 'service.orch.io/headless'])('%s', (label) => {
  const raw = rawEndpoints({ metadata: { labels: { [label]: '' } } })
  expect(sound(decodeEndpoints(raw))).toBeUndefined()
  const included = sound(decodeEndpoints(raw, { includeHeadless: true }))
  expect(included).toMatchObject({ service: 'shop/cart' })
})

test('an address keeps its hostname', () => {
  const addresses = [{ ip: '10.0.0.1', hostname: 'db-0' }, { ip: '10.0.0.2' }]
  const [group] =
    sound(decodeEndpoints(rawEndpoints({ subsets: [{ addresses, ports: [] }] })))?.groups ?? []
  expect(group?.endpoints.map(({ hostname }) => hostname)).toEqual(['db-0', undefined])
})

test.each<[unknown, string]>([
  [{ ip: '127.0.0.1' }, 'subsets[0].addresses[0].ip "127.0.0.1"'],
  [{ ip: '::ffff:169.254.169.254' }, 'subsets[0].addresses[0].ip "::ffff:169.254.169.254"'],
  [{ ip: '010.0.1' }, 'subsets[0].addresses[0].ip "010.0.1"'],
  [{}, 'subsets[0].addresses[0].ip (absent)'],
  [null, 'subsets[0].addresses[0] null'],
  ['10.0.0.1', 'subsets[0].addresses[0] "10.0.0.1"'],
])('the address %j costs only itself', (address, place) => {
  const subsets = [{ addresses: [address, { ip: '10.0.0.2' }], ports: [{ port: 1 }] }]
  const decoded = decodeEndpoints(rawEndpoints({ subsets }))
  expect(valueOf(decoded)?.groups[0]?.endpoints.map(({ ip }) => ip)).toEqual(['10.0.0.2'])
  expect(placesOf(problemsOf(decoded))).toEqual([place])
})

test('an Endpoints object that serves another end than a Service may have dots in its name', () => {
  const raw = rawEndpoints({ metadata: { name: 'lock.of.something' } })
  expect(sound(decodeEndpoints(raw))?.name).toBe('shop/lock.of.something')
  expect(decodeEndpoints(rawEndpoints({ metadata: { name: 'a/b' } })).ok).toBe(false)
})
