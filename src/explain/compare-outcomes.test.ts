import { describe, expect, test } from 'vitest'
import type { IpAddress } from '../lib/ip.ts'
import { compareOutcomes, type Expectation } from './compare-outcomes.ts'
import type { Endpoint } from './packet/packet-state.ts'
import type { WalkOutcome } from './walk/walk-outcome.ts'

const CLIENT = '10.0.0.2' as IpAddress
const PACKET = { isOwnSource: false, src: CLIENT, dst: '172.30.0.1', port: 80 }
const A = { ip: '10.1.0.1' as IpAddress, port: 8080, weight: 1 }
const B = { ip: '10.1.0.2' as IpAddress, port: 8080, weight: 1 }

function expected(changes: Partial<Expectation> = {}): Expectation {
  const given = { outcome: 'deliver', backends: [A, B], masquerade: 'no' } as const
  return {
    ...given,
    isUnclaimed: false,
    hasAffinity: false,
    ownPorts: new Set<number>(),
    refusals: undefined,
    ...changes,
  }
}

interface Delivery {
  readonly probability: number
  readonly src: IpAddress
  readonly to: 'local' | 'forwarded'
}

function delivered(
  { ip, port }: Endpoint,
  { probability = 0.5, src = CLIENT, to = 'forwarded' }: Partial<Delivery> = {},
): WalkOutcome {
  return {
    kind: 'delivered',
    to,
    dst: { ip, port },
    src,
    outInterface: 'cbr0',
    probability,
    steps: [],
  }
}

const REFUSED: WalkOutcome = { kind: 'refused', how: 'tcp-reset', probability: 1, steps: [] }
const SILENT: WalkOutcome = { kind: 'silent', by: 'a rule', probability: 1, steps: [] }
const both = [delivered(A), delivered(B)]
const compare = (table: Expectation, kernel: readonly WalkOutcome[]) =>
  compareOutcomes(PACKET, table, kernel)

test('the same', () => {
  expect(compare(expected(), both)).toEqual([])
  expect(compare(expected({ outcome: 'reject', backends: [] }), [REFUSED])).toEqual([])
  expect(compare(expected({ outcome: 'drop', backends: [] }), [SILENT])).toEqual([])
})

test('a backend that is missing makes the other ones too frequent', () => {
  expect(compare(expected(), [delivered(A, { probability: 1 })])).toEqual([
    'the backend 10.1.0.2:8080 never gets a packet',
    'the backend 10.1.0.1:8080 gets 100 % of connections instead of 50 %',
  ])
})

test('with affinity one backend alone is right, another address is not', () => {
  const table = expected({ hasAffinity: true })
  expect(compare(table, [delivered(A, { probability: 1 })])).toEqual([])
  expect(compare(table, [delivered({ ...A, port: 9 }, { probability: 1 })])).toEqual([
    '10.1.0.1:9 is not a backend of the Service, but gets the packet',
  ])
})

test('weights', () => {
  const table = expected({ backends: [{ ...A, weight: 3 }, B, { ...B, port: 1, weight: 0 }] })
  expect(compare(table, both)).toEqual([
    'the backend 10.1.0.1:8080 gets 50 % of connections instead of 75 %',
    'the backend 10.1.0.2:8080 gets 50 % of connections instead of 25 %',
  ])
  const right = [delivered(A, { probability: 0.75 }), delivered(B, { probability: 0.25 })]
  expect(compare(table, right)).toEqual([])
})

test('the source that backends see', () => {
  const masqueraded = [delivered(A, { src: '10.0.0.1' as IpAddress }), delivered(B)]
  expect(compare(expected(), masqueraded)).toEqual([
    '10.1.0.1:8080 sees 10.0.0.1, but should see the client 10.0.0.2',
  ])
  expect(compare(expected({ masquerade: 'yes' }), masqueraded)).toEqual([
    '10.1.0.2:8080 sees the client 10.0.0.2, but should see an address of this node',
  ])
  const toItself = expected({ masquerade: 'toItself', backends: [{ ...A, ip: CLIENT }] })
  expect(compare(toItself, [delivered({ ...A, ip: CLIENT }, { probability: 1 })])).toEqual([
    '10.0.0.2:8080 sees the client 10.0.0.2, but should see an address of this node',
  ])
})

test('refused, silent and uncertain instead of delivered, and the other way round', () => {
  expect(compare(expected(), [SILENT])).toEqual([
    'expected delivery to a backend, but it gets no answer: a rule',
  ])
  expect(compare(expected({ outcome: 'drop', backends: [] }), [REFUSED])).toEqual([
    'expected silence, but it is refused (tcp-reset)',
  ])
  expect(compare(expected({ outcome: 'reject', backends: [] }), [delivered(A)])).toEqual([
    'expected a refusal, but 10.1.0.1:8080 gets it, from 10.0.0.2',
  ])
  const reason = 'a limit'
  expect(compare(expected(), [{ kind: 'uncertain', reason, probability: 1, steps: [] }])).toEqual([
    'what happens is not known: a limit',
  ])
})

test('a packet of no Service must stay as it is, but others may drop it', () => {
  const table = expected({ outcome: 'unhandled', backends: [], masquerade: undefined })
  const same = delivered({ ip: '172.30.0.1' as IpAddress, port: 80 })
  expect(compare(table, [same])).toEqual([])
  expect(compare(table, [SILENT])).toEqual([])
  expect(compare(table, [delivered(A)])).toEqual([
    'no Service claims the packet, but 10.1.0.1:8080 gets it, from 10.0.0.2',
  ])
})

test('a socket of node-proxy forwards by the table; a socket of another process does not', () => {
  const own = delivered(
    { ip: '10.0.0.1' as IpAddress, port: 3001 },
    { to: 'local', probability: 1 },
  )
  expect(compare(expected({ ownPorts: new Set([3001]) }), [own])).toEqual([])
  expect(compare(expected(), [own])[0]).toBe(
    '10.0.0.1:3001 is not a backend of the Service, but gets the packet',
  )
})

test('a source that the kernel chooses is not compared', () => {
  const table = expected({ masquerade: 'yes' })
  expect(compareOutcomes({ ...PACKET, src: undefined }, table, both)).toEqual([])
})

test('masquerading may lead to the address that a process of this node has already', () => {
  const table = expected({ masquerade: 'yes' })
  expect(compareOutcomes({ ...PACKET, isOwnSource: true }, table, both)).toEqual([])
  expect(compareOutcomes(PACKET, table, both)).not.toEqual([])
})

test('what no Service has is refused, unless others translate it or this node has the address', () => {
  const unclaimed = expected({ outcome: 'reject', isUnclaimed: true, backends: [] })
  const itself = { ip: PACKET.dst as IpAddress, port: PACKET.port }
  expect(compare(unclaimed, [REFUSED])).toEqual([])
  expect(compare(unclaimed, [delivered(A)])).toEqual([])
  expect(compare(unclaimed, [delivered(itself, { to: 'local' })])).toEqual([])
  expect(compare(unclaimed, [delivered(itself)])).toEqual([
    'expected a refusal, but 172.30.0.1:80 gets it, from 10.0.0.2',
  ])
  expect(compare({ ...unclaimed, isUnclaimed: false }, [delivered(A)])).toHaveLength(1)
})

describe('NetworkPolicies', () => {
  const dropped = (to: Endpoint): WalkOutcome => ({
    ...SILENT,
    by: 'nft ip node-proxy-policies ingress-pods-x',
    probability: 0.5,
    refusedTo: { ip: to.ip, port: to.port },
  })
  const refusing = (...refusals: readonly Endpoint[]) => expected({ refusals })

  test('a backend that they refuse gets nothing, and the others their share', () => {
    expect(compare(refusing(A), [dropped(A), delivered(B)])).toEqual([])
    expect(compare(refusing(A, B), [dropped(A), dropped(B)])).toEqual([])
    expect(compare(refusing(A), [dropped(A)])).toEqual([
      'the backend 10.1.0.2:8080 never gets a packet',
    ])
  })

  test('what they refuse and is delivered, and what they admit and is dropped', () => {
    expect(compare(refusing(A), both)).toEqual([
      'NetworkPolicies refuse it, but 10.1.0.1:8080 gets it, from 10.0.0.2',
    ])
    expect(compare(refusing(), [dropped(A), delivered(B)])).toEqual([
      'NetworkPolicies admit the connection, but it gets no answer: NetworkPolicies refuse it to 10.1.0.1:8080: nft ip node-proxy-policies ingress-pods-x',
    ])
  })

  test('where it is not known what they refuse, their rules are believed', () => {
    expect(compare(expected(), [dropped(A), delivered(B)])).toEqual([])
  })

  test('a packet of no Service', () => {
    const [ip, port] = [PACKET.dst as IpAddress, PACKET.port]
    const table = { ...refusing({ ip, port }), outcome: 'unhandled', backends: [] } as const
    expect(compare(table, [dropped({ ip, port })])).toEqual([])
    expect(compare(table, [delivered({ ip, port })])).toHaveLength(1)
  })
})
