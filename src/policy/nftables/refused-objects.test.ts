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
  type SetName,
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

test('a rule that denies ports with several names denies everything where one name is missing', () => {
  const ip = '10.1.0.1' as IpAddress
  const setOf = (port: number): PolicySet => {
    const member = { ip, protocol: 'TCP', port } as const
    return { kind: 'namedPorts', members: new Map([[memberKey(member), member]]) }
  }
  const named = (name: string) => ({ protocol: 'TCP', ports: { named: name as SetName } }) as const
  const [pod, tier, deny] = ['pod', 'tier', 'deny'] as ChainName[]
  const direction = 'ingress'
  const rule = {
    peers: 'any',
    ports: [named('a'), named('b')],
    action: { deny: deny! },
    comment: 'cluster',
  } as const
  const content: PolicyContent = {
    sets: new Map([
      ['a' as SetName, setOf(80)],
      ['b' as SetName, setOf(81)],
    ]),
    policyChains: new Map(),
    tierChains: new Map([[tier!, { direction, tier: 'Admin', policies: ['x'], rules: [rule] }]]),
    denyChains: new Map([[deny!, { direction, policy: 'x' }]]),
    podChains: new Map([[pod!, { direction, admin: tier, policies: [], baseline: undefined }]]),
    pods: { ingress: new Map([[ip, pod!]]), egress: new Map() },
    localRanges: [],
  }
  const passing = (excluded: readonly string[]) => {
    const namespace = new FakeNamespace(new FakeClock())
    const settings = { unknownPods: 'allow', logDeniedPerSecond: 0 } as const
    const wanted = new WantedTable({ family: 4, content, settings, excluded: new Set(excluded) })
    namespace.alter({ do: 'addTable', table: tableOf(4) }, ...replacementOf(wanted, {}))
    const source = '10.2.0.1' as IpAddress
    const packet = { way: 'forward', source, destination: ip, protocol: 'TCP' } as const
    return [80, 81, 443].filter((port) => passes(namespace, { ...packet, port }))
  }
  expect([[], ['a'], ['b'], ['a', 'b']].map(passing)).toEqual([[443], [], [], []])
})
