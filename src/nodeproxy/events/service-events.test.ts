import { expect, test } from 'vitest'
import type { EntryId } from '../../forwarding/entry.ts'
import type { FrontendProblem } from '../../forwarding/problems.ts'
import { ip, service, serviceKey, servicePort } from '../../forwarding/testing/fixtures.ts'
import { FakeListeners } from '../../kernel/testing/fake-listeners.ts'
import type { Service } from '../../resources/types.ts'
import { recordingEvents, recordingLog } from '../testing/wiring.ts'
import { ServiceEvents } from './service-events.ts'

const CART = serviceKey('shop/cart')

function rig() {
  const { log, lines } = recordingLog()
  const { events, sent } = recordingEvents()
  const listeners = new FakeListeners()
  const world: { service: Service | undefined } = { service: service() }
  const reporter = new ServiceEvents({
    events,
    listeners,
    log,
    store: { service: () => world.service },
    node: { localAddresses: [ip('192.0.2.1')] },
  })
  return { reporter, listeners, world, sent, lines, review: () => reporter.review([CART], []) }
}

function conflict(overrides: Partial<FrontendProblem> = {}): FrontendProblem {
  return {
    entry: 'shop/cart:http/TCP/4' as EntryId,
    service: CART,
    kind: 'externalIP',
    ip: ip('192.0.2.9'),
    port: 80,
    protocol: 'TCP',
    status: 'Conflict',
    code: 'NP_FORWARDING_CONFLICT',
    winner: 'shop/a:http/TCP/4' as EntryId,
    message: 'is taken',
    ...overrides,
  }
}

test('a conflict is reported once, and again after it had disappeared', () => {
  const { reporter, sent, lines } = rig()
  reporter.review([], [conflict()])
  reporter.review([], [conflict()])
  expect(sent).toEqual([
    'FrontendConflict shop/cart: 192.0.2.9:80/TCP belongs to Service shop/a, which comes first by name: it gets the traffic.',
  ])
  reporter.review([], [])
  reporter.review([], [conflict()])
  expect([sent.length, lines.length]).toEqual([2, 2])
})

test('a conflict with another winner is reported again', () => {
  const { reporter, sent } = rig()
  reporter.review([], [conflict()])
  reporter.review([], [conflict({ winner: 'shop/b:http/TCP/4' as EntryId })])
  expect(sent[1]).toContain('belongs to Service shop/b')
})

test('a refused address is reported with the reason', () => {
  const { reporter, sent } = rig()
  reporter.review([], [conflict({ status: 'Refused', winner: undefined, message: 'is loopback' })])
  expect(sent).toEqual(['AddressRefused shop/cart: 192.0.2.9 is not served: is loopback.'])
})

test.each([
  ['0.0.0.0', true],
  ['::', true],
  ['192.0.2.1', true],
  ['127.0.0.1', false],
  ['::1', false],
])(
  'a process that listens on %s with a node port as its port: reported %s',
  (address, reported) => {
    const { listeners, world, sent, review } = rig()
    world.service = service({ type: 'NodePort', ports: [servicePort({ nodePort: 30_080 })] })
    listeners.listeners = [{ protocol: 'TCP', ip: ip(address), port: 30_080 }]
    review()
    expect(sent.map((text) => text.split(' ')[0])).toEqual(reported ? ['NodePortInUse'] : [])
  },
)

test('a process that listens on an external IP of a Service, an address of this node, is reported', () => {
  const { listeners, world, sent, review } = rig()
  world.service = service({ externalIPs: [ip('192.0.2.1'), ip('192.0.2.77')] })
  listeners.listeners = [
    { protocol: 'TCP', ip: ip('192.0.2.1'), port: 80 },
    { protocol: 'UDP', ip: ip('192.0.2.1'), port: 80 },
  ]
  review()
  expect(sent).toHaveLength(1)
  expect(sent[0]).toContain('ExternalIPInUse shop/cart: External IP 192.0.2.1')
})

test('local sockets are listed when a Service gets a new node port, not at every review', () => {
  const { listeners, world, sent, review } = rig()
  const listCalls: number[] = []
  const list = listeners.list.bind(listeners)
  listeners.list = () => {
    listCalls.push(1)
    return list()
  }
  const nodePort = service({ type: 'NodePort', ports: [servicePort({ nodePort: 30_080 })] })
  world.service = nodePort
  review()
  review()
  expect(listCalls).toHaveLength(1)
  world.service = undefined
  review()
  world.service = nodePort
  listeners.listeners = [{ protocol: 'TCP', ip: ip('0.0.0.0'), port: 30_080 }]
  review()
  expect([listCalls.length, sent.length]).toEqual([2, 1])
})
