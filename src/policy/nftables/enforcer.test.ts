import { constants } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import type { FlowEnds } from '../../kernel/conntrack/conntrack.ts'
import { FakeConntrack } from '../../kernel/conntrack/testing/fake-conntrack.ts'
import { FakeNamespace } from '../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../kernel/nftables/testing/fake-nftables.ts'
import { FakeObjectMonitor } from '../../kernel/nftables/testing/fake-object-monitor.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { ChainName, PolicyContent, PolicySet, SetName } from '../policy-content.ts'
import { PolicyEnforcer } from './enforcer.ts'
import { CHAIN as BASE_CHAIN, SET, TABLE, tableOf } from './render.ts'
import { EMPTY, ScriptedSource } from './testing/scripted-source.ts'

const HOUR_MS = 3_600_000
const { EBUSY, EEXIST, ENOMEM, EOPNOTSUPP } = constants.errno
const POD = '10.1.0.1' as IpAddress
const NODE = '192.168.0.2' as IpAddress
const [POLICY, CHAIN] = ['policy' as ChainName, 'pod-chain' as ChainName]

const SETTINGS = {
  unknownPods: 'allow',
  logDeniedPerSecond: 0,
  establishedConnections: 'cut',
} as const

const podSet = (...members: readonly string[]): PolicySet => ({
  kind: 'pods',
  members: new Set(members as readonly IpAddress[]),
  comment: '',
})

/** A Pod that a policy isolates; `peers`: whom it admits. */
function isolated(...peers: readonly string[]): PolicyContent {
  const ports = [{ protocol: 'TCP', ports: [{ first: 80, last: 90 }] }] as const
  const rules = [{ peers: 'peers' as SetName, ports }]
  return {
    ...EMPTY,
    sets: new Map([['peers' as SetName, podSet(...peers)]]),
    policyChains: new Map([[POLICY, { direction: 'ingress', policy: 'shop/x', rules }]]),
    podChains: new Map([
      [CHAIN, { direction: 'ingress', admin: undefined, policies: [POLICY], baseline: undefined }],
    ]),
    pods: { ingress: new Map([[POD, CHAIN]]), egress: new Map([[POD, 'accept']]) },
  }
}

let clock: FakeClock
let namespace: FakeNamespace
let nftables: FakeNftables
let conntrack: FakeConntrack
let model: ScriptedSource
let enforcer: PolicyEnforcer<PolicyContent>
let reported: string[]
let onApplied: () => void
let isMonitored: boolean
/** Whether changes by others are reported. */
let isReporting: boolean

beforeEach(async () => {
  clock = new FakeClock()
  namespace = new FakeNamespace(clock)
  nftables = new FakeNftables(namespace)
  conntrack = new FakeConntrack()
  model = new ScriptedSource(EMPTY, () => false)
  reported = []
  onApplied = () => undefined
  isMonitored = false
  isReporting = true
  // Tables without an owner, which others may change.
  nftables.refuse(EOPNOTSUPP, (one) => one.do === 'addTable' && one.spec?.isPersistent === true)
  const monitor = new FakeObjectMonitor(namespace, { table: TABLE, exceptPort: nftables.port })
  enforcer = new PolicyEnforcer({
    model,
    nftables,
    monitor: {
      start(onChange) {
        const stop = monitor.start((change) => {
          if (isReporting) onChange(change)
        })
        isMonitored = true
        return () => {
          isMonitored = false
          stop()
        }
      },
      hold: (options) => monitor.hold(options),
    },
    conntrack,
    clock,
    families: [4],
    settings: SETTINGS,
    observer: {
      applied: ({ refused }) => {
        reported.push(refused.size === 0 ? 'applied' : 'refused')
        onApplied()
      },
      drifted: () => reported.push('drifted'),
      failed: (error) => reported.push(error instanceof NodeProxyError ? 'failed' : String(error)),
      flowsCut: (count) => reported.push(`cut ${count}`),
      flowsFailed: () => reported.push('not cut'),
    },
    isNodeAddress: (ip) => ip === NODE,
  })
  enforcer.setSynced()
  await write(isolated('10.1.0.2'))
})

/** Lets everything happen that is due within so many milliseconds. */
async function settle(ms = 5_000): Promise<void> {
  const end = clock.now() + ms
  for (;;) {
    await setImmediate()
    const [next] = clock.pending()
    if (next === undefined || clock.now() + next > end) break
    await clock.advance(next)
  }
  clock.elapse(end - clock.now())
}

async function write(content: PolicyContent): Promise<void> {
  enforcer.enqueue([content])
  await settle()
  reported = []
}

async function members(): Promise<readonly string[]> {
  const found: string[] = []
  await nftables.elements(tableOf(4), 'peers', ({ key }) => found.push(Buffer.from(key).join('.')))
  return found.toSorted()
}

function flow(source: string, destination: string): FlowEnds {
  const ends = { source: source as IpAddress, destination: destination as IpAddress }
  return { ...ends, protocol: 'TCP', port: 80 }
}

test('what comes while a run writes is written by the next one', async () => {
  onApplied = () => {
    onApplied = () => undefined
    enforcer.enqueue([isolated('10.1.0.4')])
  }
  enforcer.enqueue([isolated('10.1.0.3')])
  await settle()
  expect(await members()).toEqual(['10.1.0.4'])
})

test('a callback is called when its own events are in the kernel, not those before it', async () => {
  const seen: (readonly string[])[] = []
  const look = () => void members().then((all) => seen.push(all))
  onApplied = () => {
    onApplied = () => undefined
    enforcer.enqueue([isolated('10.1.0.4')], look)
  }
  enforcer.enqueue([isolated('10.1.0.3')], look)
  await settle()
  expect(seen).toEqual([['10.1.0.3'], ['10.1.0.4']])
})

test('what came and went is written again without reading anything', async () => {
  const [commits, reads] = [nftables.transactions.length, nftables.reads.length]
  const dump = namespace.dump()
  await write({ ...EMPTY, localRanges: ['10.1.0.0/24' as Cidr] })
  await write(isolated('10.1.0.2'))
  expect(nftables.transactions).toHaveLength(commits + 2)
  expect(nftables.reads).toHaveLength(reads)
  expect(namespace.dump()).toEqual(dump)
})

test('an element that the kernel reports twice stays', async () => {
  const elements = nftables.elements.bind(nftables)
  nftables.elements = (table, set, visit) =>
    elements(table, set, (element) => [element, element].forEach(visit))
  enforcer.configure(SETTINGS)
  await settle()
  expect(reported).toEqual(['applied'])
  nftables.elements = elements
  expect(await members()).toEqual(['10.1.0.2'])
})

test('stopped, it watches no more, and changes nothing', async () => {
  expect(isMonitored).toBe(true)
  await enforcer.stop()
  expect(isMonitored).toBe(false)
  enforcer.enqueue([isolated('10.1.0.3')])
  await settle()
  expect(await members()).toEqual(['10.1.0.2'])
})

test('what no notification reported is found by the hourly reading', async () => {
  const elements = [{ key: Buffer.from([10, 1, 0, 9]) }]
  isReporting = false
  namespace.alter({ do: 'addElements', table: tableOf(4), set: 'peers', elements })
  isReporting = true
  await settle(HOUR_MS / 2)
  expect(await members()).toContain('10.1.0.9')
  await settle(HOUR_MS)
  expect(await members()).toEqual(['10.1.0.2'])
  expect(reported).toContain('drifted')
})

test('a verification that fails is repeated each second', async () => {
  enforcer.configure(SETTINGS)
  await settle(100)
  reported = []
  nftables.failNext({ kind: 'lost' }, 3)
  await settle(HOUR_MS + 1_400)
  expect(reported).toEqual(['failed', 'failed'])
})

test('only changes that withdraw something cut connections, and none of the node', async () => {
  const ofPod = flow('10.1.0.7', POD)
  conntrack.ends = [ofPod, flow(NODE, POD), flow(POD, NODE)]
  model.isNarrower = false
  enforcer.enqueue([isolated('10.1.0.2', '10.1.0.3')])
  await settle()
  expect(conntrack.ends).toContain(ofPod)
  model.isNarrower = true
  enforcer.enqueue([isolated('10.1.0.3')])
  await settle()
  expect(conntrack.ends).toEqual([flow(NODE, POD), flow(POD, NODE)])
  expect(reported).toContain('cut 1')
})

test('with keep nothing is cut; changed to cut, what is not admitted ends', async () => {
  enforcer.configure({ ...SETTINGS, establishedConnections: 'keep' })
  await settle()
  conntrack.ends = [flow('10.1.0.7', POD)]
  enforcer.enqueue([isolated()])
  await settle()
  expect(conntrack.ends).toHaveLength(1)
  enforcer.configure(SETTINGS)
  await settle()
  expect(conntrack.ends).toEqual([])
})

test('connections that could not be cut are cut later', async () => {
  conntrack.ends = [flow('10.1.0.7', POD)]
  conntrack.failure = new Error('no answer')
  enforcer.enqueue([isolated('10.1.0.3')])
  await settle(500)
  expect(reported).toContain('not cut')
  conntrack.failure = undefined
  await settle()
  expect(conntrack.ends).toEqual([])
})

test('without an object that every table has, nothing counts as in force', async () => {
  nftables.refuse(EBUSY, (one) => one.do === 'addSet' && one.set === SET.ingress)
  namespace.alter({ do: 'deleteTable', table: tableOf(4) })
  await settle()
  expect(new Set(reported)).toEqual(new Set(['failed']))
})

test('objects of which the kernel refuses a different one each time are no endless attempt', async () => {
  let seen = 0
  const accept = nftables.refuse(
    EBUSY,
    (one) => one.do === 'addSet' && one.set.startsWith('other') && seen++ % 3 !== 1,
  )
  const { sets, ...rest } = isolated('10.1.0.3')
  const others = ['other-1', 'other-2'].map((name) => [name as SetName, podSet()] as const)
  enforcer.enqueue([{ ...rest, sets: new Map([...sets, ...others]) }])
  await settle()
  expect(new Set(reported)).toEqual(new Set(['failed']))
  accept()
  await settle()
  expect(await members()).toEqual(['10.1.0.3'])
})

test('a chain that cannot be emptied stays, and everything else is in force', async () => {
  const accept = nftables.refuse(EBUSY, (one) => one.do === 'flushChain' && one.chain === POLICY)
  await write(EMPTY)
  enforcer.enqueue([{ ...EMPTY, sets: isolated('10.1.0.3').sets }])
  await settle()
  expect(reported.at(-1)).toBe('refused')
  expect(await members()).toEqual(['10.1.0.3'])
  accept()
  await settle(HOUR_MS)
  expect([...namespace.table(tableOf(4))!.chains.keys()]).not.toContain(POLICY)
})

test('an error that has nothing to do with the object is no refusal of it', async () => {
  const accept = nftables.refuse(ENOMEM, (one) => 'set' in one && one.set === 'peers')
  enforcer.enqueue([isolated('10.1.0.3')])
  await settle()
  expect(new Set(reported)).toEqual(new Set(['failed']))
  accept()
  await settle()
  expect(await members()).toEqual(['10.1.0.3'])
})

test('an object that is refused once is tried again before it is left out', async () => {
  let left = 2
  nftables.refuse(EEXIST, (one) => one.do === 'deleteElements' && left-- > 0)
  enforcer.enqueue([isolated('10.1.0.3')])
  await settle()
  expect(reported).not.toContain('refused')
  expect(await members()).toEqual(['10.1.0.3'])
})

test('what is refused is tried again ever less often', async () => {
  const accept = nftables.refuse(EBUSY, (one) => 'set' in one && one.set === 'peers-2')
  const content = isolated('10.1.0.2')
  const sets = new Map([...content.sets, ['peers-2' as SetName, podSet('10.1.0.5')] as const])
  enforcer.enqueue([{ ...content, sets }])
  await settle(20_000)
  const soon = reported.filter((one) => one === 'refused').length
  reported = []
  await settle(20_000)
  const later = reported.filter((one) => one === 'refused').length
  expect(soon).toBeGreaterThan(later)
  expect(later).toBeLessThan(4)
  accept()
  await settle(600_000)
  expect(reported.at(-1)).toBe('applied')
})

test('what is written meanwhile leaves what is refused to be tried again', async () => {
  nftables.refuse(EBUSY, (one) => 'set' in one && one.set === 'peers-2')
  const content = isolated('10.1.0.2')
  const others = [['peers-2' as SetName, podSet('10.1.0.5')] as const]
  await write({ ...content, sets: new Map([...content.sets, ...others]) })
  const changed = isolated('10.1.0.3').sets
  enforcer.enqueue([{ ...content, sets: new Map([...changed, ...others]) }])
  await settle(500)
  expect(reported).toEqual(['refused'])
  expect(await members()).toEqual(['10.1.0.3'])
})

test('after a long run a change by others waits a quarter of a second', async () => {
  nftables.meanwhile(() => clock.elapse(10_000))
  enforcer.enqueue([isolated('10.1.0.3')])
  await settle(500)
  namespace.alter({ do: 'flushSet', table: tableOf(4), set: 'peers' })
  await settle(200)
  expect(await members()).toEqual([])
  await settle(50)
  expect(await members()).toEqual(['10.1.0.3'])
})

test('a chain that others made again without its hook is replaced', async () => {
  const [table, chain] = [tableOf(4), BASE_CHAIN.ingress]
  const { rules } = namespace.table(table)!.chains.get(chain)!
  namespace.alter(
    { do: 'deleteChain', table, chain },
    { do: 'addChain', table, chain, spec: {} },
    ...rules.map(({ rule }) => ({ do: 'addRule', table, chain, rule }) as const),
  )
  await settle()
  expect(namespace.table(table)!.chains.get(chain)!.spec.hook).toBeDefined()
})

test('a change by others is repaired within a second, and named', async () => {
  const elements = [{ key: Buffer.from([10, 1, 0, 9]) }]
  namespace.alter({ do: 'addElements', table: tableOf(4), set: 'peers', elements })
  await settle(1_000)
  expect(await members()).toEqual(['10.1.0.2'])
  expect(reported).toContain('drifted')
})

test('what was applied although its answer was lost is no drift', async () => {
  nftables.failNext({ kind: 'lost', applied: true })
  enforcer.enqueue([isolated('10.1.0.3')])
  await settle()
  expect(await members()).toEqual(['10.1.0.3'])
  expect(reported).toContain('failed')
  expect(reported).not.toContain('drifted')
})

test('what a failed run left is written with what comes before the next attempt', async () => {
  nftables.failNext({ kind: 'lost' })
  enforcer.enqueue([isolated('10.1.0.3')])
  await settle(100)
  expect(reported).toEqual(['failed'])
  enforcer.enqueue([isolated('10.1.0.3', '10.1.0.4')])
  await settle(100)
  expect(await members()).toEqual(['10.1.0.3', '10.1.0.4'])
})

test('what a failed repair left is no drift', async () => {
  const [table, set, elements] = [tableOf(4), 'peers', [{ key: Buffer.from([10, 1, 0, 9]) }]]
  namespace.alter({ do: 'addElements', table, set, elements })
  namespace.alter({ do: 'deleteElements', table, set, elements })
  nftables.failNext({ kind: 'lost' })
  enforcer.enqueue([isolated('10.1.0.3')])
  await settle()
  expect(reported).toEqual(['failed', 'applied'])
  expect(await members()).toEqual(['10.1.0.3'])
})

test('a repair that failed at first is named when it succeeds', async () => {
  namespace.alter({ do: 'flushSet', table: tableOf(4), set: 'peers' })
  nftables.failNext({ kind: 'lost' })
  await settle()
  expect(reported).toEqual(['failed', 'drifted', 'applied'])
})
