import { constants } from 'node:os'
import { beforeEach, expect, test } from 'vitest'
import type { Cidr } from '../../lib/ip.ts'
import type { SetName } from '../policy-content.ts'
import { CHAIN as BASE_CHAIN, SET, tableOf } from './render.ts'
import {
  CHAIN,
  EnforcerRig,
  HOUR_MS,
  isolated,
  POLICY,
  podSet,
  SETTINGS,
} from './testing/enforcer-rig.ts'
import { EMPTY } from './testing/scripted-source.ts'

const { EBUSY, EEXIST, ENOMEM } = constants.errno

let rig: EnforcerRig

beforeEach(async () => {
  rig = new EnforcerRig()
  await rig.start(isolated('10.1.0.2'))
})

test('what comes while a run writes is written by the next one', async () => {
  rig.onApplied = () => {
    rig.onApplied = () => undefined
    rig.enforcer.enqueue([isolated('10.1.0.4')])
  }
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle()
  expect(await rig.members()).toEqual(['10.1.0.4'])
})

test('a callback is called when its own events are in the kernel, not those before it', async () => {
  const seen: (readonly string[])[] = []
  const look = () => void rig.members().then((all) => seen.push(all))
  rig.onApplied = () => {
    rig.onApplied = () => undefined
    rig.enforcer.enqueue([isolated('10.1.0.4')], look)
  }
  rig.enforcer.enqueue([isolated('10.1.0.3')], look)
  await rig.settle()
  expect(seen).toEqual([['10.1.0.3'], ['10.1.0.4']])
})

test('what came and went is written again without reading anything', async () => {
  const [commits, reads] = [rig.nftables.transactions.length, rig.nftables.reads.length]
  const dump = rig.namespace.dump()
  await rig.write({ ...EMPTY, localRanges: ['10.1.0.0/24' as Cidr] })
  await rig.write(isolated('10.1.0.2'))
  expect(rig.nftables.transactions).toHaveLength(commits + 2)
  expect(rig.nftables.reads).toHaveLength(reads)
  expect(rig.namespace.dump()).toEqual(dump)
})

test('an element that the kernel reports twice stays', async () => {
  const elements = rig.nftables.elements.bind(rig.nftables)
  rig.nftables.elements = (table, set, visit) =>
    elements(table, set, (element) => [element, element].forEach(visit))
  rig.enforcer.configure(SETTINGS)
  await rig.settle()
  expect(rig.reported).toEqual(['applied'])
  rig.nftables.elements = elements
  expect(await rig.members()).toEqual(['10.1.0.2'])
})

test('stopped, it watches no more, and changes nothing', async () => {
  expect(rig.isMonitored).toBe(true)
  await rig.enforcer.stop()
  expect(rig.isMonitored).toBe(false)
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle()
  expect(await rig.members()).toEqual(['10.1.0.2'])
})

test('what no notification reported is found by the hourly reading', async () => {
  const elements = [{ key: Buffer.from([10, 1, 0, 9]) }]
  rig.isReporting = false
  rig.namespace.alter({ do: 'addElements', table: tableOf(4), set: 'peers', elements })
  rig.isReporting = true
  await rig.settle(HOUR_MS / 2)
  expect(await rig.members()).toContain('10.1.0.9')
  await rig.settle(HOUR_MS)
  expect(await rig.members()).toEqual(['10.1.0.2'])
  expect(rig.reported).toContain('drifted')
})

test('a verification that fails is repeated each second', async () => {
  rig.enforcer.configure(SETTINGS)
  await rig.settle(100)
  rig.reported = []
  rig.nftables.failNext({ kind: 'lost' }, 3)
  await rig.settle(HOUR_MS + 1_400)
  expect(rig.reported).toEqual(['failed', 'failed'])
})

test('without an object that every table has, nothing counts as in force', async () => {
  rig.nftables.refuse(EBUSY, (one) => one.do === 'addSet' && one.set === SET.ingress)
  rig.namespace.alter({ do: 'deleteTable', table: tableOf(4) })
  await rig.settle()
  expect(new Set(rig.reported)).toEqual(new Set(['failed']))
})

test('objects of which the kernel refuses a different one each time are no endless attempt', async () => {
  let seen = 0
  const accept = rig.nftables.refuse(
    EBUSY,
    (one) => one.do === 'addSet' && one.set.startsWith('other') && seen++ % 3 !== 1,
  )
  const { sets, ...rest } = isolated('10.1.0.3')
  const others = ['other-1', 'other-2'].map((name) => [name as SetName, podSet()] as const)
  rig.enforcer.enqueue([{ ...rest, sets: new Map([...sets, ...others]) }])
  await rig.settle()
  expect(new Set(rig.reported)).toEqual(new Set(['failed']))
  accept()
  await rig.settle()
  expect(await rig.members()).toEqual(['10.1.0.3'])
})

test('a chain that cannot be emptied stays, and everything else is in force', async () => {
  const accept = rig.nftables.refuse(
    EBUSY,
    (one) => one.do === 'flushChain' && one.chain === POLICY,
  )
  await rig.write(EMPTY)
  rig.enforcer.enqueue([{ ...EMPTY, sets: isolated('10.1.0.3').sets }])
  await rig.settle()
  expect(rig.reported.at(-1)).toBe('refused')
  expect(await rig.members()).toEqual(['10.1.0.3'])
  accept()
  await rig.settle(HOUR_MS)
  expect([...rig.namespace.table(tableOf(4))!.chains.keys()]).not.toContain(POLICY)
})

test('an error that has nothing to do with the object is no refusal of it', async () => {
  const accept = rig.nftables.refuse(ENOMEM, (one) => 'set' in one && one.set === 'peers')
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle()
  expect(new Set(rig.reported)).toEqual(new Set(['failed']))
  accept()
  await rig.settle()
  expect(await rig.members()).toEqual(['10.1.0.3'])
})

test('an object that is refused once is tried again before it is left out', async () => {
  let left = 2
  rig.nftables.refuse(EEXIST, (one) => one.do === 'deleteElements' && left-- > 0)
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle()
  expect(rig.reported).not.toContain('refused')
  expect(await rig.members()).toEqual(['10.1.0.3'])
})

test('what is refused is tried again ever less often', async () => {
  const accept = rig.nftables.refuse(EBUSY, (one) => 'set' in one && one.set === 'peers-2')
  const content = isolated('10.1.0.2')
  const sets = new Map([...content.sets, ['peers-2' as SetName, podSet('10.1.0.5')] as const])
  rig.enforcer.enqueue([{ ...content, sets }])
  await rig.settle(20_000)
  const soon = rig.reported.filter((one) => one === 'refused').length
  rig.reported = []
  await rig.settle(20_000)
  const later = rig.reported.filter((one) => one === 'refused').length
  expect(soon).toBeGreaterThan(later)
  expect(later).toBeLessThan(4)
  accept()
  await rig.settle(600_000)
  expect(rig.reported.at(-1)).toBe('applied')
})

test('what is written meanwhile leaves what is refused to be tried again', async () => {
  rig.nftables.refuse(EBUSY, (one) => 'set' in one && one.set === 'peers-2')
  const content = isolated('10.1.0.2')
  const others = [['peers-2' as SetName, podSet('10.1.0.5')] as const]
  await rig.write({ ...content, sets: new Map([...content.sets, ...others]) })
  const changed = isolated('10.1.0.3').sets
  rig.enforcer.enqueue([{ ...content, sets: new Map([...changed, ...others]) }])
  await rig.settle(500)
  expect(rig.reported).toEqual(['refused'])
  expect(await rig.members()).toEqual(['10.1.0.3'])
})

test('after a long run a change by others waits a quarter of a second', async () => {
  rig.nftables.meanwhile(() => rig.clock.elapse(10_000))
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle(500)
  rig.namespace.alter({ do: 'flushSet', table: tableOf(4), set: 'peers' })
  await rig.settle(200)
  expect(await rig.members()).toEqual([])
  await rig.settle(50)
  expect(await rig.members()).toEqual(['10.1.0.3'])
})

test('a chain that others made again without its hook is replaced', async () => {
  const [table, chain] = [tableOf(4), BASE_CHAIN.ingress]
  const { rules } = rig.namespace.table(table)!.chains.get(chain)!
  rig.namespace.alter(
    { do: 'deleteChain', table, chain },
    { do: 'addChain', table, chain, spec: {} },
    ...rules.map(({ rule }) => ({ do: 'addRule', table, chain, rule }) as const),
  )
  await rig.settle()
  expect(rig.namespace.table(table)!.chains.get(chain)!.spec.hook).toBeDefined()
})

test('a change by others is repaired within a second, and named', async () => {
  const elements = [{ key: Buffer.from([10, 1, 0, 9]) }]
  rig.namespace.alter({ do: 'addElements', table: tableOf(4), set: 'peers', elements })
  await rig.settle(1_000)
  expect(await rig.members()).toEqual(['10.1.0.2'])
  expect(rig.reported).toContain('drifted')
})

test('what was applied although its answer was lost is no drift', async () => {
  rig.nftables.failNext({ kind: 'lost', applied: true })
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle()
  expect(await rig.members()).toEqual(['10.1.0.3'])
  expect(rig.reported).toContain('failed')
  expect(rig.reported).not.toContain('drifted')
})

test('what a failed run left is written with what comes before the next attempt', async () => {
  rig.nftables.failNext({ kind: 'lost' })
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle(100)
  expect(rig.reported).toEqual(['failed'])
  rig.enforcer.enqueue([isolated('10.1.0.3', '10.1.0.4')])
  await rig.settle(100)
  expect(await rig.members()).toEqual(['10.1.0.3', '10.1.0.4'])
})

test('what a failed repair left is no drift', async () => {
  const [table, set, elements] = [tableOf(4), 'peers', [{ key: Buffer.from([10, 1, 0, 9]) }]]
  rig.namespace.alter({ do: 'addElements', table, set, elements })
  rig.namespace.alter({ do: 'deleteElements', table, set, elements })
  rig.nftables.failNext({ kind: 'lost' })
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle()
  expect(rig.reported).toEqual(['failed', 'applied'])
  expect(await rig.members()).toEqual(['10.1.0.3'])
})

test('a repair that failed at first is named when it succeeds', async () => {
  rig.namespace.alter({ do: 'flushSet', table: tableOf(4), set: 'peers' })
  rig.nftables.failNext({ kind: 'lost' })
  await rig.settle()
  expect(rig.reported).toEqual(['failed', 'drifted', 'applied'])
})

/** Another set that the kernel refuses, until the returned function is called. */
function refuseAnotherSet(): () => void {
  const accept = rig.nftables.refuse(EBUSY, (one) => 'set' in one && one.set === 'peers-2')
  const content = isolated('10.1.0.2')
  const sets = new Map([...content.sets, ['peers-2' as SetName, podSet('10.1.0.5')] as const])
  rig.enforcer.enqueue([{ ...content, sets }])
  return accept
}

test('what is refused is tried again every five minutes at the least', async () => {
  const accept = refuseAnotherSet()
  await rig.settle(1_100_000)
  accept()
  await rig.settle(300_000)
  expect(rig.reported.at(-1)).toBe('applied')
})

test('after what was refused is in force, the next refusal is tried again at once', async () => {
  refuseAnotherSet()()
  await rig.settle(600_000)
  const accept = refuseAnotherSet()
  await rig.settle(600_000)
  accept()
  await rig.settle(600_000)
  await rig.write(isolated('10.1.0.2'))
  refuseAnotherSet()
  await rig.settle(4_000)
  expect(rig.reported).toEqual(['refused', 'refused', 'refused'])
})

test('the end waits for the run in progress', async () => {
  const order: string[] = []
  rig.onApplied = () => order.push('applied')
  rig.nftables.meanwhile(() => void rig.enforcer.stop().then(() => order.push('stopped')))
  rig.enforcer.enqueue([isolated('10.1.0.3')])
  await rig.settle()
  expect(order).toEqual(['applied', 'stopped'])
})

test('what others change before the first run is no drift', async () => {
  rig = new EnforcerRig()
  rig.enforcer.enqueue([isolated('10.1.0.2')])
  rig.enforcer.setSynced()
  rig.namespace.alter({ do: 'addTable', table: tableOf(4) })
  await rig.settle()
  expect(rig.reported).toEqual(['applied'])
})

test.each(['before', 'after'])(
  'what a new configuration writes is no drift: others change something %s it',
  async (when) => {
    const change = () => rig.namespace.alter({ do: 'flushSet', table: tableOf(4), set: 'peers' })
    const configure = () => rig.enforcer.configure({ ...SETTINGS, unknownPods: 'deny' })
    for (const step of when === 'before' ? [change, configure] : [configure, change]) step()
    await rig.settle()
    expect(rig.reported).toEqual(['applied'])
    expect(await rig.members()).toEqual(['10.1.0.2'])
  },
)

test('what a new configuration writes at the second attempt is no drift, though others change something in between', async () => {
  rig.enforcer.configure({ ...SETTINGS, unknownPods: 'deny' })
  rig.nftables.failNext({ kind: 'lost' })
  rig.nftables.meanwhile(() =>
    rig.namespace.alter({ do: 'flushSet', table: tableOf(4), set: 'peers' }),
  )
  await rig.settle()
  expect(rig.reported).toEqual(['failed', 'applied'])
})

test('the slower everything is read, the less often it is', async () => {
  rig.nftables.meanwhile(() => rig.clock.elapse(20_000))
  rig.namespace.alter({ do: 'flushSet', table: tableOf(4), set: 'peers' })
  await rig.settle(60_000)
  expect(await rig.members()).toEqual(['10.1.0.2'])
  rig.isReporting = false
  rig.namespace.alter({ do: 'flushSet', table: tableOf(4), set: 'peers' })
  await rig.settle(2 * HOUR_MS)
  expect(await rig.members()).toEqual([])
  await rig.settle(HOUR_MS)
  expect(await rig.members()).toEqual(['10.1.0.2'])
})

test('dropped packets are read of both families', async () => {
  rig = new EnforcerRig([4, 6])
  await rig.start(isolated('10.1.0.2'))
  rig.namespace.count(tableOf(4), CHAIN, 3n)
  rig.namespace.count(tableOf(6), CHAIN, 5n)
  const of = { chain: CHAIN, direction: 'ingress', policies: ['shop/x'] }
  expect(await rig.enforcer.readDropped()).toEqual([
    { family: 4, packets: 3n, ...of },
    { family: 6, packets: 5n, ...of },
  ])
})
