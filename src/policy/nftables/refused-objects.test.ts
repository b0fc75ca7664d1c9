import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FakeNamespace } from '../../kernel/nftables/testing/fake-namespace.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import {
  type ChainName,
  memberKey,
  type PolicyContent,
  type PolicySet,
  type PortMatch,
  type SetName,
  type TierRule,
} from '../policy-content.ts'
import { LOG_LIMIT } from './chain-rules.ts'
import { tableOf, WantedTable } from './render.ts'
import { judgePacket } from './testing/judge-packet.ts'
import { passes } from './testing/packet-walk.ts'
import { someContent, somePacket } from './testing/some-content.ts'
import { replacementOf } from './transactions.ts'

const someSettings = fc.record({
  unknownPods: fc.constantFrom('allow', 'deny'),
  logDeniedPerSecond: fc.constant(5),
})

test('without sets and chains that the kernel refuses, nothing passes that policies do not admit', () => {
  let [fewer, same] = [0, 0]
  fc.assert(
    fc.property(
      someContent,
      someSettings,
      fc.array(fc.nat(), { maxLength: 3 }),
      fc.array(somePacket, { minLength: 30, maxLength: 30 }),
      (content, settings, picked, packets) => {
        const { sets, policyChains, tierChains, denyChains, podChains } = content
        const all = [sets, policyChains, tierChains, denyChains, podChains]
        const named = all.flatMap((objects): readonly string[] => [...objects.keys()])
        const ports = new WantedTable({
          family: 4,
          content,
          settings,
          excluded: new Set(),
        }).portSets()
        const names = [...named, ...ports, LOG_LIMIT]
        const excluded = new Set(picked.flatMap((at) => names[at % names.length] ?? []))
        const namespace = new FakeNamespace(new FakeClock())
        for (const family of [4, 6] as const) {
          const wanted = new WantedTable({ family, content, settings, excluded })
          namespace.alter({ do: 'addTable', table: tableOf(family) }, ...replacementOf(wanted, {}))
        }
        for (const packet of packets) {
          const isAdmitted = judgePacket(content, packet, settings)
          const isPassing = passes(namespace, packet)
          if (isPassing && !isAdmitted) expect({ packet, excluded }).toBe('dropped')
          if (excluded.size === 0) expect(isPassing).toBe(isAdmitted)
          if (isPassing === isAdmitted) same++
          else fewer++
        }
      },
    ),
    { numRuns: 1_500 },
  )
  expect(fewer).toBeGreaterThan(100)
  expect(same).toBeGreaterThan(1_000)
})

const ip = '10.1.0.1' as IpAddress
const [POD, TIER, DENY] = ['pod', 'tier', 'deny'] as ChainName[]

/** Those of the ports 80, 81 and 443 that a Pod is reached at; it calls the first two `a` and `b`. */
function passing(rules: readonly Pick<TierRule, 'ports' | 'action'>[], ...refused: string[]) {
  const setOf = (port: number): PolicySet => {
    const member = { ip, protocol: 'TCP', port } as const
    return { kind: 'namedPorts', members: new Map([[memberKey(member), member]]) }
  }
  const direction = 'ingress'
  const admin = rules.map((one) => ({ peers: 'any', comment: 'cluster', ...one }) as const)
  const content: PolicyContent = {
    sets: new Map([
      ['a' as SetName, setOf(80)],
      ['b' as SetName, setOf(81)],
    ]),
    policyChains: new Map(),
    tierChains: new Map([[TIER!, { direction, tier: 'Admin', policies: ['x'], rules: admin }]]),
    denyChains: new Map([[DENY!, { direction, policy: 'x' }]]),
    podChains: new Map([[POD!, { direction, admin: TIER, policies: [], baseline: undefined }]]),
    pods: { ingress: new Map([[ip, POD!]]), egress: new Map() },
    localRanges: [],
  }
  const namespace = new FakeNamespace(new FakeClock())
  const settings = { unknownPods: 'allow', logDeniedPerSecond: 0 } as const
  const wanted = new WantedTable({ family: 4, content, settings, excluded: new Set(refused) })
  namespace.alter({ do: 'addTable', table: tableOf(4) }, ...replacementOf(wanted, {}))
  const source = '10.2.0.1' as IpAddress
  const packet = { way: 'forward', source, destination: ip, protocol: 'TCP' } as const
  return [80, 81, 443].filter((port) => passes(namespace, { ...packet, port }))
}

const named = (name: string): PortMatch => ({ protocol: 'TCP', ports: { named: name as SetName } })

test('a rule that denies ports with several names denies everything where one name is missing', () => {
  const rules = [{ ports: [named('a'), named('b')], action: { deny: DENY! } }]
  expect(passing(rules)).toEqual([443])
  for (const refused of [['a'], ['b'], ['a', 'b']]) expect(passing(rules, ...refused)).toEqual([])
})

test('a rule that passes ports on denies everything where their name is missing', () => {
  const rest = { ports: 'any', action: { deny: DENY! } } as const
  const rules = [{ ports: [named('a')], action: 'pass' }, rest] as const
  expect(passing(rules)).toEqual([80])
  expect(passing(rules, 'a')).toEqual([])
  const open = [rules[0], { ports: 'any', action: 'accept' }] as const
  expect(passing(open)).toEqual([80, 81, 443])
  expect(passing(open, 'a')).toEqual([])
})
