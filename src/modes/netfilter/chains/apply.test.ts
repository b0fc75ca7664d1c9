import { expect, test } from 'vitest'
import { fakeNode, ownersOf, serviceAt } from '../../../../test/support/modes/fake-node.ts'
import type { ForwardingEntry } from '../../../forwarding/entry.ts'
import type { Iptables, RestoreResult } from '../../../kernel/iptables/iptables.ts'
import type { FakeIptables } from '../../../kernel/iptables/testing/fake-iptables.ts'
import type { ObjectKey } from '../../mode.ts'
import { backend, entry, frontend } from '../../testing/mode-fixtures.ts'
import { applyCommits } from './apply.ts'

const through = (address: string) => ({ pools: { cluster: [backend(address)], local: [] } })
const EMPTY = { pools: { cluster: [], local: [] } }

/** Changes what a restore answers. */
function answering(change: (result: RestoreResult) => RestoreResult) {
  return (iptables: FakeIptables): Iptables => ({
    backend: iptables.backend,
    version: iptables.version,
    save: (...args) => iptables.save(...args),
    counters: (...args) => iptables.counters(...args),
    listChain: (...args) => iptables.listChain(...args),
    restore: async (...args) => change(await iptables.restore(...args)),
  })
}

/** The legacy variant when the kernel, not iptables, refuses: only the COMMIT is named. */
const onlyTheCommit = answering((result) => {
  if (result.ok) return result
  const { line: _, ...rest } = result
  return { ...rest, message: 'iptables-restore: line 999 failed', line: 999 }
})

test('a refusal in the filter table is blamed on its own object, after jumps went in', async () => {
  const { mode, iptables, sync } = fakeNode()
  iptables.refuse(/172\.30\.0\.6\/32 .*REJECT/)
  const nodePorts = [1, 2, 3, 4].map((n) =>
    serviceAt(`p${n}`, '172.30.0.1', {
      ...EMPTY,
      frontends: [frontend({ kind: 'nodePort', ip: 'node', port: 30_000 + n })],
    }),
  )
  const result = await sync(...nodePorts, serviceAt('bad', '172.30.0.6', EMPTY))
  expect([...result.failed.keys()]).toEqual(['4/filter/NPROXY-FILTER-VIPS'])
  expect(ownersOf(mode, result.failed)).toEqual(new Set())
  expect(iptables.dump()).toContain('-A FORWARD -j NPROXY-FORWARD')
})

test('a new chain that is refused is created all the same, for others lead there', async () => {
  const { iptables, tracker, sync, remove, mode } = fakeNode()
  iptables.refuse(/10\.66\.0\.1/)
  const result = await sync(serviceAt('bad', '172.30.0.6', through('10.66.0.1')))
  expect(ownersOf(mode, result.failed)).toEqual(new Set(['bad']))
  expect(tracker.saw(await mode.observe())).toEqual([])
  await sync(serviceAt('good', '172.30.0.7'))
  expect(iptables.dump()).toContain('-d 172.30.0.7/32')
  await remove('bad', 'good')
  expect(iptables.dump()).not.toMatch(/NPROXY-C-/)
  expect(tracker.isSettled).toBe(true)
})

test('a chain that is refused alone is created too', async () => {
  const { iptables, mode, tracker, sync, write } = fakeNode()
  await sync(serviceAt('bad', '172.30.0.6'))
  const [chain] = /NPROXY-C-\S+/.exec(iptables.dump()) ?? []
  iptables.alter(4, `*nat\n:NPROXY-VIPS - [0:0]\n:${chain} - [0:0]\n-X ${chain}\nCOMMIT\n`)
  const key = `4/nat/${chain}` as ObjectKey
  tracker.saw(await mode.observe([key]), [key])
  iptables.refuse(/10\.180/)
  expect([...(await write()).failed.keys()]).toEqual([key])
  expect(iptables.dump()).toContain(`:${chain} -`)
})

test('a chain that another process deleted and others lead to is made again, empty', async () => {
  const { iptables, tracker, sync, retry } = fakeNode()
  const allow = iptables.refuse(/10\.66\.0\.1/)
  await sync(serviceAt('bad', '172.30.0.6', through('10.66.0.1')))
  const [chain] = /NPROXY-C-\S+/.exec(iptables.dump()) ?? []
  iptables.alter(4, `*nat\n:NPROXY-VIPS - [0:0]\n-X ${chain}\nCOMMIT\n`)
  expect((await sync(serviceAt('good', '172.30.0.7'))).failed).toEqual(new Map())
  expect(iptables.dump()).toContain('-d 172.30.0.7/32')
  allow()
  await retry()
  expect(iptables.dump()).toContain('10.66.0.1:8080')
  expect(tracker.isSettled).toBe(true)
})

test('a chain that a foreign rule leads to is emptied; everything else goes', async () => {
  const { iptables, mode, tracker, sync, remove, retry } = fakeNode()
  const local = { pool: 'local', shortCircuit: true, masquerade: 'onNode' } as const
  const [clusterIP] = entry().frontends as [ForwardingEntry['frontends'][0]]
  await sync()
  const before = iptables.dump()
  await sync(
    serviceAt('held', '172.30.0.6', {
      frontends: [{ ...clusterIP, kind: 'externalIP', ...local }],
    }),
    serviceAt('free', '172.30.0.7'),
  )
  const [held] = /NPROXY-E-\S+/.exec(iptables.dump()) ?? []
  iptables.alter(4, `*nat\n:FOREIGN - [0:0]\n-A FOREIGN -j ${held}\nCOMMIT\n`)
  const { failed } = await remove('held', 'free')
  expect([...failed.keys()]).toEqual([`4/nat/${held}`])
  expect(iptables.dump()).not.toMatch(/NPROXY-C-/)
  expect(iptables.dump()).not.toContain(`-A ${held}`)
  expect(tracker.saw(await mode.observe())).toEqual([])
  iptables.alter(4, '*nat\n:FOREIGN - [0:0]\n-X FOREIGN\nCOMMIT\n')
  expect((await retry()).failed).toEqual(new Map())
  expect(iptables.dump()).toBe(before)
})

test('where only the COMMIT is named, halving finds the chain at fault', async () => {
  const { mode, iptables, sync } = fakeNode({ through: onlyTheCommit })
  iptables.refuse(/10\.66\.0\./)
  const all = Array.from({ length: 40 }, (_, n) =>
    serviceAt(`s${n}`, `172.30.0.${n + 1}`, n % 16 === 5 ? through(`10.66.0.${n}`) : {}),
  )
  const { failed } = await sync(...all)
  expect(ownersOf(mode, failed)).toEqual(new Set(['s5', 's21', 's37']))
  for (const n of [1, 5, 7, 21, 40]) expect(iptables.dump()).toContain(`-d 172.30.0.${n}/32`)
})

test.each([
  ['locked', undefined, true],
  ['locked', 0, false],
  ['timeout', undefined, true],
  ['refused', undefined, true],
] as const)('%s after %s commits: uncertain %s', async (kind, commits, uncertain) => {
  const fail = answering((result) => {
    return { ok: false, kind, message: 'words', commits, pid: result.pid }
  })
  const { sync, tracker } = fakeNode({ through: fail, settings: { families: [4] } })
  const result = await sync(serviceAt('a', '172.30.0.1'))
  expect(result.uncertain).toBe(uncertain)
  expect(new Set([...result.failed.values()].map(({ code }) => code))).toEqual(
    new Set([`NP_IPTABLES_${kind.toUpperCase()}`]),
  )
  expect(tracker.isSettled).toBe(false)
})

test('what was committed before the lock was lost is done', async () => {
  let calls = 0
  const lockedAfterOne = answering((result) => {
    calls++
    return { ok: false, kind: 'locked', message: 'words', commits: 1, line: 99, pid: result.pid }
  })
  const { sync } = fakeNode({ through: lockedAfterOne, settings: { families: [4] } })
  const { failed, uncertain } = await sync(serviceAt('a', '172.30.0.1'))
  expect(calls).toBe(1)
  expect(uncertain).toBe(false)
  expect([...failed.keys()].filter((key) => key.startsWith('4/nat/'))).toEqual([])
  expect([...failed.keys()]).toContain('4/filter/NPROXY-FILTER')
})

test('a refused commit that only creates chains is reported for each of them', async () => {
  const refused = { ok: false, kind: 'refused', message: 'refused', commits: 0, pid: 1 } as const
  const [first, second] = ['4/nat/NPROXY-C-A', '4/nat/NPROXY-C-B'] as [ObjectKey, ObjectKey]
  const { failed } = await applyCommits(
    4,
    [{ family: 4, table: 'nat', set: [], unset: [], stubs: [first, second] }],
    {
      prefix: 'NPROXY-',
      iptables: answering(() => refused)(fakeNode().iptables),
      contents: { rulesOf: () => [], countOf: () => 0 },
      exists: () => false,
      wrote: () => {},
      done: () => {},
    },
  )
  const error = { code: 'NP_IPTABLES_REFUSED', message: 'refused' }
  expect([...failed]).toEqual([
    [first, error],
    [second, error],
  ])
})
