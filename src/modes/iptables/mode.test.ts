import { expect, test } from 'vitest'
import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import { FakeIpset } from '../../kernel/ipset/fake-ipset.ts'
import { FakeIptables } from '../../kernel/iptables/fake-iptables.ts'
import { FakeMonitor } from '../../kernel/nftables-monitor/fake-monitor.ts'
import { DeltaTracker } from '../../sync/delta-tracker.ts'
import { backend, entry, frontend, ip, settings } from './fixtures.ts'
import { IptablesMode } from './mode.ts'

/** A node with a fake kernel, and all that stands between an entry and that kernel. */
function node(kernel?: { ipset: FakeIpset; iptables: FakeIptables }) {
  const ipset = kernel?.ipset ?? new FakeIpset()
  const iptables = kernel?.iptables ?? new FakeIptables({ sets: ipset })
  ipset.isUsed = (name) => iptables.refersTo(name)
  const mode = new IptablesMode(settings(), { iptables, ipset, monitor: new FakeMonitor() })
  const tracker = new DeltaTracker()
  return {
    kernel: { ipset, iptables },
    mode,
    tracker,
    async sync(...entries: readonly ForwardingEntry[]) {
      for (const one of entries) mode.program.replace(one.id, one)
      tracker.want(mode.program.takeChanges())
      const change = tracker.pending(0)
      const result = await mode.apply(change)
      tracker.confirm(change, result, 0)
      return result.failed
    },
  }
}

const named = (name: string, overrides: Partial<ForwardingEntry> = {}) =>
  entry({ id: name as EntryId, ...overrides })
const at = (name: string, address: string, overrides: Partial<ForwardingEntry> = {}) =>
  named(name, { frontends: [frontend({ ip: ip(address) })], ...overrides })
const sticky = { affinity: { seconds: 60 } }

test('what was written is what is observed', async () => {
  const { mode, tracker, sync } = node()
  await sync(at('a', '172.30.0.1'), at('b', '172.30.0.2', sticky))
  expect(tracker.saw(await mode.observe())).toEqual([])
  expect(tracker.isSettled).toBe(true)
})

test('one changed backend writes one chain', async () => {
  const { kernel, sync } = node()
  const all = Array.from({ length: 200 }, (_, i) => at(`s${i}`, `172.30.0.${i + 1}`))
  await sync(...all)
  const before = kernel.iptables.texts.length
  await sync(at('s7', '172.30.0.8', { pools: { cluster: [backend('10.9.9.9')], local: [] } }))
  const [text, ...more] = kernel.iptables.texts.slice(before)
  expect(more).toEqual([])
  expect(text?.match(/^:/gm)).toHaveLength(1)
})

test('removing an entry removes its chains and sets', async () => {
  const { kernel, mode, sync } = node()
  await sync()
  const empty = kernel.iptables.dump()
  await sync(at('a', '172.30.0.1', sticky))
  mode.program.replace('a' as EntryId, undefined)
  expect(await sync()).toEqual(new Map())
  expect(kernel.iptables.dump()).toBe(empty)
  expect(await kernel.ipset.names('')).toEqual([])
})

test('a refused chain harms no other Service, and is tried again', async () => {
  const { kernel, tracker, mode, sync } = node()
  const allow = kernel.iptables.refuse(/10\.66\.0\.1/)
  const bad = at('bad', '172.30.0.6', { pools: { cluster: [backend('10.66.0.1')], local: [] } })
  const failed = await sync(at('a', '172.30.0.1'), bad, at('b', '172.30.0.2'))
  expect([...failed.keys()].flatMap((key) => mode.program.ownersOf(key))).toEqual(['bad'])
  expect([...failed.values()][0]?.code).toBe('NP_IPTABLES_REFUSED')
  expect(kernel.iptables.dump()).toContain('-d 172.30.0.1/32')
  expect(kernel.iptables.dump()).toContain('-d 172.30.0.2/32')
  expect(kernel.iptables.dump()).not.toContain('10.66.0.1')
  allow()
  const retry = tracker.pending(tracker.nextRetry() ?? 0)
  tracker.confirm(retry, await mode.apply(retry), 0)
  expect(kernel.iptables.dump()).toContain('10.66.0.1')
  expect(tracker.isSettled).toBe(true)
})

test('a set that the kernel refuses takes only its own Service along', async () => {
  const { kernel, mode, sync } = node()
  kernel.ipset.refuse(/^create/)
  const failed = await sync(at('a', '172.30.0.1'), at('b', '172.30.0.2', sticky))
  expect(new Set([...failed.keys()].flatMap((key) => mode.program.ownersOf(key)))).toEqual(
    new Set(['b']),
  )
  expect(kernel.iptables.dump()).toContain('-d 172.30.0.1/32')
})

test.each(['locked', 'timeout', 'missing'] as const)(
  '%s fails everything, to be retried',
  async (kind) => {
    const { kernel, tracker, sync } = node()
    kernel.iptables.failNext({ kind }, 2)
    const failed = await sync(at('a', '172.30.0.1'))
    expect(failed.size).toBeGreaterThan(0)
    expect(new Set([...failed.values()].map(({ code }) => code))).toEqual(
      new Set([`NP_IPTABLES_${kind.toUpperCase()}`]),
    )
    expect(tracker.isSettled).toBe(false)
  },
)

test('a fresh daemon adopts what is right and removes what is stale', async () => {
  const old = node()
  await old.sync(at('a', '172.30.0.1'), at('gone', '172.30.0.9', sticky))
  const { kernel } = old
  const fresh = node(kernel)
  fresh.tracker.saw(await fresh.mode.observe())
  kernel.iptables.texts.length = 0
  await fresh.sync(at('a', '172.30.0.1'))
  const written = kernel.iptables.texts.join('')
  expect(written).not.toContain('10.180.0.1')
  expect(kernel.iptables.dump()).not.toContain('172.30.0.9')
  expect(await kernel.ipset.names('')).toEqual([])
  expect(fresh.tracker.saw(await fresh.mode.observe())).toEqual([])
})

test('a jump that stands twice is put right', async () => {
  const { kernel, mode, tracker, sync } = node()
  await sync()
  kernel.iptables.alter(4, '*nat\n-A PREROUTING -j NPROXY-SERVICES\nCOMMIT\n')
  expect(tracker.saw(await mode.observe())).toMatchObject([{ kind: 'altered' }])
  await sync()
  expect(kernel.iptables.dump().match(/-A PREROUTING -j NPROXY-SERVICES/g)).toHaveLength(2)
})

test('cleanup leaves what others made', async () => {
  const { kernel, mode, sync } = node()
  const foreign = '*nat\n:KUBE-SERVICES - [0:0]\n-A PREROUTING -j KUBE-SERVICES\nCOMMIT\n'
  kernel.iptables.alter(4, foreign)
  await kernel.ipset.restore(['create FOREIGN hash:ip'])
  const before = kernel.iptables.dump()
  await sync(at('a', '172.30.0.1', sticky))
  await mode.cleanup()
  expect(kernel.iptables.dump().replaceAll(/# .*\n|:[A-Z]+ ACCEPT\n/g, '')).toBe(
    before.replaceAll(/# .*\n|:[A-Z]+ ACCEPT\n/g, ''),
  )
  expect(await kernel.ipset.names('')).toEqual(['FOREIGN'])
})
