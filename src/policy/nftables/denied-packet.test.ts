import { expect, test } from 'vitest'
import type { Rule } from '../../kernel/nftables/objects.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { ChainName, PolicyContent } from '../policy-content.ts'
import { LOG_GROUP, LOG_LIMIT } from './chain-rules.ts'
import { describeDenied } from './denied-packet.ts'
import { CHAIN, WantedTable } from './render.ts'
import { EMPTY } from './testing/scripted-source.ts'

const [POD, PEER] = ['10.1.0.1', '10.1.0.2'] as IpAddress[]
const [CHAIN_OF_POD, OUT_OF_POD, DENY] = ['ingress-pods-x', 'egress-pods-x', 'ingress-deny-x'].map(
  (name) => name as ChainName,
) as [ChainName, ChainName, ChainName]
const POLICIES = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const policyChain = (name: string) => `ingress-${name}` as ChainName

const CONTENT: PolicyContent = {
  ...EMPTY,
  policyChains: new Map(
    POLICIES.map((name) => [
      policyChain(name),
      { direction: 'ingress', policy: `shop/${name}`, rules: [] },
    ]),
  ),
  denyChains: new Map([[DENY, { direction: 'ingress', policy: 'fence' }]]),
  podChains: new Map([
    [
      CHAIN_OF_POD,
      {
        direction: 'ingress',
        admin: undefined,
        policies: POLICIES.map(policyChain),
        baseline: undefined,
      },
    ],
    [
      OUT_OF_POD,
      {
        direction: 'egress',
        admin: undefined,
        policies: [policyChain('a')],
        baseline: undefined,
      },
    ],
  ]),
}

/** From POD's port 49153 to PEER's port 80, or the reverse. */
function tcp(from: 'pod' | 'peer'): Buffer {
  const [source, destination] = from === 'pod' ? [1, 2] : [2, 1]
  const header = [0x45, 0, 0, 44, 0, 0, 0, 0, 64, 6, 0, 0, 10, 1, 0, source, 10, 1, 0, destination]
  return Buffer.from([...header, 0xc0, 0x01, 0, 80])
}

const PODS = new Map([[POD, 'shop/web']])
/** Its methods need `this`, as those of the model. */
const known = {
  content: CONTENT,
  pods: PODS,
  podAt(ip: IpAddress) {
    return this.pods.get(ip)
  },
}
const denied = (prefix: string, payload = tcp('peer')) =>
  describeDenied({ family: 4, prefix, payload }, known)

test('what isolates the Pod in the direction is named, up to five policies', () => {
  expect(denied(CHAIN_OF_POD)).toEqual({
    source: PEER,
    sourcePort: 49_153,
    destination: POD,
    port: 80,
    protocol: 'TCP',
    direction: 'ingress',
    pod: 'shop/web',
    peer: undefined,
    policies: ['shop/a', 'shop/b', 'shop/c', 'shop/d', 'shop/e'],
    morePolicies: 2,
  })
})

test('of exactly as many policies as are named, no more are', () => {
  const policies = POLICIES.slice(0, 5).map(policyChain)
  const chain = { ...CONTENT.podChains.get(CHAIN_OF_POD)!, policies }
  const content = { ...CONTENT, podChains: new Map([[CHAIN_OF_POD, chain]]) }
  const packet = { family: 4, prefix: CHAIN_OF_POD, payload: tcp('peer') } as const
  const found = describeDenied(packet, { ...known, content })
  expect([found?.policies.length, found?.morePolicies]).toEqual([5, undefined])
})

test('of egress the source is the Pod, and the other end the peer', () => {
  expect(denied(OUT_OF_POD, tcp('pod'))).toMatchObject({
    direction: 'egress',
    pod: 'shop/web',
    peer: undefined,
    policies: ['shop/a'],
    morePolicies: undefined,
  })
  expect(denied(OUT_OF_POD, tcp('peer'))).toMatchObject({ pod: undefined, peer: 'shop/web' })
})

test('a rule of Deny and an unknown Pod', () => {
  expect(denied(DENY)).toMatchObject({ direction: 'ingress', policies: ['fence'] })
  const direction = 'egress'
  const denyChains = new Map([[DENY, { direction, policy: 'fence' } as const]])
  const content = { ...CONTENT, denyChains }
  const packet = { family: 4, prefix: DENY, payload: tcp('pod') } as const
  expect(describeDenied(packet, { ...known, content })).toMatchObject({
    direction,
    pod: 'shop/web',
    policies: ['fence'],
  })
  for (const [chain, direction] of [
    [CHAIN.ingress, 'ingress'],
    [CHAIN.ingressOutput, 'ingress'],
    [CHAIN.egress, 'egress'],
    [CHAIN.egressOutput, 'egress'],
  ] as const) {
    expect(denied(chain)).toMatchObject({ direction, policies: [] })
  }
})

test('a packet that both ends deny is counted and logged as that of its sender', () => {
  const settings = { unknownPods: 'deny', logDeniedPerSecond: 0 } as const
  const wanted = new WantedTable({ family: 4, content: CONTENT, settings, excluded: new Set() })
  const priority = (chain: string) => wanted.chain(chain)?.spec.hook?.priority
  expect(priority(CHAIN.ingress)).toBeGreaterThan(priority(CHAIN.egress)!)
  expect(priority(CHAIN.ingressOutput)).toBeGreaterThan(priority(CHAIN.egressOutput)!)
})

test('a text of another program, a chain that is gone and a packet without addresses say nothing', () => {
  expect(denied('IN=eth0')).toBeUndefined()
  expect(denied('ingress-pods-gone')).toBeUndefined()
  expect(denied(CHAIN_OF_POD, tcp('pod').subarray(0, 10))).toBeUndefined()
})

/** The last rules of each chain that drops. */
function ends(logDeniedPerSecond: number): Readonly<Record<string, readonly Rule[]>> {
  const settings = { unknownPods: 'deny', logDeniedPerSecond } as const
  const wanted = new WantedTable({ family: 4, content: CONTENT, settings, excluded: new Set() })
  const dropping = [...wanted.chains()].flatMap((name) => {
    const rules = wanted.chain(name)?.rules ?? []
    const first = rules.findIndex(({ expressions }) =>
      expressions.some(({ type }) => type === 'counter' || type === 'limit'),
    )
    return first < 0 ? [] : [[name, rules.slice(first)] as const]
  })
  return Object.fromEntries(dropping)
}

const DROP = { type: 'verdict', verdict: { kind: 'drop' } }
const JUMP = { type: 'verdict', verdict: { kind: 'jump', chain: LOG_LIMIT } }
const DROPPING = [DENY, CHAIN_OF_POD, OUT_OF_POD, 'egress', 'ingress', 'egress-output']

test('without a log the rules count and drop, and nothing else', () => {
  const all = ends(0)
  expect(Object.keys(all)).toEqual([...DROPPING, 'ingress-output'])
  for (const rules of Object.values(all)) {
    expect(rules).toHaveLength(1)
    expect(rules[0]?.expressions.slice(-2)).toEqual([{ type: 'counter' }, DROP])
  }
})

test('with a log all chains share one limit, and each logs under its name', () => {
  const { [LOG_LIMIT]: limit, ...all } = ends(7)
  expect(limit).toEqual([
    { expressions: [{ type: 'limit', perSecond: 7, burst: 7, isOver: true }, DROP] },
  ])
  expect(Object.keys(all)).toEqual([...DROPPING, 'ingress-output'])
  for (const [prefix, rules] of Object.entries(all)) {
    expect(rules.map(({ expressions }) => expressions.slice(-2))).toEqual([
      [{ type: 'counter' }, JUMP],
      [{ type: 'log', group: LOG_GROUP, prefix }, DROP],
    ])
  }
})

test.each([0, 1])('a rule of Deny leads to the chain that counts, with a log of %d', (rate) => {
  const tier = 'ingress-admin-x' as ChainName
  const rules = [{ peers: 'any', ports: 'any', action: { deny: DENY }, comment: 'fence' }] as const
  const chain = { direction: 'ingress', tier: 'Admin', policies: ['fence'], rules } as const
  const content = { ...CONTENT, tierChains: new Map([[tier, chain]]) }
  const settings = { unknownPods: 'deny', logDeniedPerSecond: rate } as const
  const wanted = new WantedTable({ family: 4, content, settings, excluded: new Set() })
  const lead = { type: 'verdict', verdict: { kind: 'goto', chain: DENY } }
  expect(wanted.chain(tier)?.rules.map(({ expressions }) => expressions)).toEqual([[lead]])
  const types = wanted.chain(DENY)?.rules.flatMap(({ expressions }) => expressions)
  expect(types?.map(({ type }) => type)).toContain('counter')
  expect(types?.some(({ type }) => type === 'log')).toBe(rate > 0)
})
