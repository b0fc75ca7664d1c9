import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createLab, type Lab } from '../../support/lab/lab.ts'
import { createPolicyLab, type PolicyLab } from '../../support/policy/policy-lab.ts'
import { FAMILIES, PODS, WAYS } from '../../support/policy/universe.ts'
import { UPSTREAM_SETS } from '../../support/policy/upstream-sets.ts'

/**
 * The lab of truth tables itself: rules written by hand stand for a right enforcement and for wrong ones, and each wrong
 * one has to be called wrong. Services are translated by hand, too.
 */
let lab: Lab
let policies: PolicyLab

beforeAll(async () => {
  lab = await createLab()
  policies = await createPolicyLab(lab)
  await lab.node.namespace.exec(['nft', '-f', '-'], { input: SERVICES })
})

afterAll(async () => {
  await policies?.close()
  await lab?.close()
})

beforeEach(() => enforce([]))

const NO_POLICIES = { name: 'no policies', policies: [] }
const NAME =
  'should enforce policy to allow traffic from pods within server namespace based on PodSelector'
const SET = UPSTREAM_SETS.find(({ name }) => name === NAME)!
const CONNECTIONS = 12 * 2 * 2

const SERVICES = [
  'table inet services {',
  'chain prerouting { type nat hook prerouting priority -100;',
  ...PODS.flatMap(({ ips, serviceIps }) =>
    FAMILIES.map((family) => {
      const ip = family === 4 ? 'ip' : 'ip6'
      const ports = '1080 : 80, 1081 : 81, 1082 : 82, 9080 : 8080'
      return `meta l4proto { tcp, udp, sctp } ${ip} daddr ${serviceIps[family]} dnat ${ip} to ${ips[family]} : th dport map { ${ports} }`
    }),
  ),
  '}',
  'chain postrouting { type nat hook postrouting priority 100;',
  ...PODS.flatMap(({ ips }) =>
    FAMILIES.map((family) => {
      const ip = family === 4 ? 'ip' : 'ip6'
      return `ct status dnat ${ip} saddr ${ips[family]} ${ip} daddr ${ips[family]} masquerade`
    }),
  ),
  '}',
  '}',
].join('\n')

const own = PODS.find(({ key }) => key === 'x/a')!
const peer = PODS.find(({ key }) => key === 'x/b')!

/** Rules for the forward hook, with `$own` and `$peer` in place of matches of both families. */
async function enforce(rules: readonly string[]): Promise<void> {
  const both = rules.flatMap((rule) =>
    FAMILIES.map((family) => {
      const ip = family === 4 ? 'ip' : 'ip6'
      return rule
        .replaceAll('$toOwn', `${ip} daddr ${own.ips[family]}`)
        .replaceAll('$fromOwn', `${ip} saddr ${own.ips[family]}`)
        .replaceAll('$fromPeer', `${ip} saddr ${peer.ips[family]}`)
        .replaceAll('$toPeer', `${ip} daddr ${peer.ips[family]}`)
    }),
  )
  const hook = 'chain forward { type filter hook forward priority 0;'
  const table = ['table inet policies {', hook, ...both, '}', '}']
  const input = ['add table inet policies', 'delete table inet policies', ...table].join('\n')
  await lab.node.namespace.exec(['nft', '-f', '-'], { input })
}

const REPLIES = 'ct state established,related accept'
const ITSELF = '$fromOwn $toOwn accept'

test('without policies every Pod answers every other, by its address and through its Service', async () => {
  expect((await policies.probe(NO_POLICIES, WAYS)).text).toBe('')
})

test('rules that say what the policies say are right', async () => {
  await enforce([REPLIES, ITSELF, '$fromPeer $toOwn accept', '$toOwn drop'])
  expect((await policies.probe(SET, WAYS)).text).toBe('')
})

describe('wrong rules are called wrong, each with the connections that they get wrong', () => {
  const right = [REPLIES, ITSELF, '$fromPeer $toOwn accept']

  test.each([
    // Every peer but x/a itself and x/b: seven on the node, three on another.
    { fault: 'nothing is enforced', rules: [], wrong: 10 * CONNECTIONS },
    { fault: 'nothing is admitted', rules: [REPLIES, ITSELF, '$toOwn drop'], wrong: CONNECTIONS },
    {
      fault: 'one protocol is forgotten',
      rules: [...right, '$toOwn meta l4proto != sctp drop'],
      wrong: (10 * CONNECTIONS) / 3,
    },
    {
      fault: 'one port is forgotten',
      rules: [...right, '$toOwn th dport != 8080 drop'],
      wrong: (10 * CONNECTIONS) / 4,
    },
    {
      fault: 'one family is forgotten',
      rules: [...right, '$toOwn meta nfproto ipv4 drop'],
      wrong: (10 * CONNECTIONS) / 2,
    },
    {
      fault: 'Services are a way around',
      rules: [...right, '$toOwn ct status dnat accept', '$toOwn drop'],
      wrong: (10 * CONNECTIONS) / 2,
    },
    {
      fault: 'the Pod does not reach itself through its Service',
      rules: [REPLIES, '$fromPeer $toOwn accept', '$toOwn drop'],
      wrong: CONNECTIONS / 2,
    },
    {
      // Its packets and those of the peers that are admitted arrive, and no reply comes back.
      fault: 'replies are held up',
      rules: ['$fromPeer $toOwn accept', '$fromOwn $toOwn accept', '$toOwn drop'],
      wrong: 10 * CONNECTIONS,
    },
    {
      // No client tells this from a right enforcement.
      fault: 'only replies to the others are held up',
      rules: ['ct direction original accept', ITSELF, '$fromOwn $toPeer accept', '$fromOwn drop'],
      wrong: 10 * CONNECTIONS,
      found: 'arrived',
    },
    {
      // By address alone: a reset to a bridged client of a Service keeps the Pod's address, so the client ignores it.
      fault: 'connections are reset instead of dropped',
      rules: [
        ...right,
        '$toOwn ct status dnat drop',
        '$toOwn meta l4proto tcp reject with tcp reset',
        '$toOwn drop',
      ],
      wrong: (10 * CONNECTIONS) / 3 / 2,
      found: 'refused',
    },
  ])('$fault', async ({ rules, wrong, found = '' }) => {
    await enforce(rules)
    const { count, text } = await policies.probe(SET, WAYS)
    expect(text).toContain('connections are wrong')
    expect(text).toContain('podSelector')
    expect(text).toContain(`: ${found}`)
    expect(count).toBe(wrong)
  })
})
