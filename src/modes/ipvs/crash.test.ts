import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type FakeKernel,
  fakeIpvsNode,
  fakeKernel,
  foreignAt,
  pass,
  serversOf,
  stateOf,
} from '../../../test/support/modes/fake-ipvs-node.ts'
import { Killed, type Life, mortal } from '../../../test/support/modes/mortal-kernel.ts'
import { type EntryChange, someChange } from '../../../test/support/modes/some-entry.ts'
import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { VirtualServerId } from '../../kernel/ipvs/ipvs.ts'
import { ip, settings } from '../testing/mode-fixtures.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 100)
const DRAIN_SECONDS = 3
const given = {
  netfilter: settings({ localhostNodePorts: true }),
  drain: { tcp: DRAIN_SECONDS, udp: 0, sctp: DRAIN_SECONDS },
}

/** Foreign virtual servers: by itself, by a mark, and at a point that Services want too. */
const FOREIGN: readonly VirtualServerId[] = [
  { family: 4, protocol: 'TCP', ip: ip('172.31.0.1'), port: 80 },
  { family: 4, mark: 77 },
  { family: 4, protocol: 'TCP', ip: ip('5.0.0.2'), port: 80 },
]

const run = fc.record({
  changes: fc.array(fc.array(someChange, { minLength: 1, maxLength: 3 }), { maxLength: 4 }),
  /** Calls and commands until it is killed; none: it never is. */
  life: fc.option(fc.nat(150), { freq: 4 }),
  /** Every how many-th backend has connections; 0: none. */
  busy: fc.nat(3),
})
type Run = typeof run extends fc.Arbitrary<infer T> ? T : never

async function kernelWithForeigners(): Promise<FakeKernel> {
  const kernel = fakeKernel()
  await kernel.ipvs.run(FOREIGN.flatMap(foreignAt))
  return kernel
}

async function foreignersOf(kernel: FakeKernel): Promise<unknown> {
  const all = await serversOf(kernel)
  return Object.fromEntries(Object.entries(all).filter(([, text]) => text.includes('/route')))
}

/** One daemon from start to end, which writes change by change until it is killed. */
async function live(
  kernel: FakeKernel,
  { changes, life: left }: Omit<Run, 'busy'>,
  entries: Map<EntryId, ForwardingEntry>,
): Promise<void> {
  const life: Life = { left: left ?? Number.POSITIVE_INFINITY }
  const node = fakeIpvsNode(kernel, given, mortal(kernel, life))
  const start: EntryChange[] = [...entries].map(([id, entry]) => ({ id, entry }))
  for (const change of changes.flat()) {
    if (change.entry === undefined) entries.delete(change.id)
    else entries.set(change.id, change.entry)
  }
  try {
    await node.look()
    for (const some of [start, ...changes]) {
      for (const { id, entry } of some) node.mode.program.replace(id, entry)
      await node.write()
    }
  } catch (error) {
    if (!(error instanceof Killed)) throw error
  }
  await kernel.relays.closeAll()
}

async function setConnections(kernel: FakeKernel, every: number): Promise<void> {
  let count = 0
  for (const { id } of await kernel.ipvs.services()) {
    for (const server of (await kernel.ipvs.servers(id)) ?? []) {
      const isBusy = every > 0 && count++ % every === 0
      kernel.ipvs.setConnections(id, server, { activeConnections: Number(isBusy) })
    }
  }
}

/** A last daemon writes everything, and lives until no backend drains any more. */
async function settle(
  kernel: FakeKernel,
  entries: ReadonlyMap<EntryId, ForwardingEntry>,
): Promise<void> {
  const node = fakeIpvsNode(kernel, given)
  for (const [id, entry] of entries) node.mode.program.replace(id, entry)
  await node.look()
  const stop = node.mode.watch(() => {})
  await node.write()
  await pass(kernel, DRAIN_SECONDS + 2)
  stop()
  expect(await node.look()).toEqual([])
}

test(`daemons that are killed anywhere leave what the next one understands (${HISTORIES} times)`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 4 }), async (runs) => {
      const kernel = await kernelWithForeigners()
      const theirs = await foreignersOf(kernel)
      const entries = new Map<EntryId, ForwardingEntry>()
      for (const { busy, ...one } of runs) {
        await live(kernel, one, entries)
        expect(await foreignersOf(kernel)).toEqual(theirs)
        await setConnections(kernel, busy)
      }
      await settle(kernel, entries)
      const fresh = await kernelWithForeigners()
      await settle(fresh, entries)
      expect(await stateOf(kernel)).toEqual(await stateOf(fresh))
      await fakeIpvsNode(kernel, given).mode.cleanup()
      expect(await serversOf(kernel)).toEqual(theirs)
      expect(await kernel.sets.names('')).toEqual([])
      expect(await kernel.routes.list()).toEqual([])
    }),
    { numRuns: HISTORIES },
  )
}, 300_000)

test('so does one that is killed while it leaves to another mode', async () => {
  await fc.assert(
    fc.asyncProperty(run, fc.nat(120), async ({ busy, ...one }, left) => {
      const kernel = await kernelWithForeigners()
      const theirs = await foreignersOf(kernel)
      const entries = new Map<EntryId, ForwardingEntry>()
      await live(kernel, { ...one, life: null }, entries)
      await setConnections(kernel, busy)
      const { mode } = fakeIpvsNode(kernel, given, mortal(kernel, { left }))
      const never = new AbortController().signal
      const killed = mode.drainAndCleanup(never).catch((error: unknown) => {
        expect(error).toBeInstanceOf(Killed)
      })
      await pass(kernel, DRAIN_SECONDS + 2)
      await killed
      await fakeIpvsNode(kernel, given).mode.cleanup()
      expect(await serversOf(kernel)).toEqual(theirs)
      expect(await kernel.sets.names('')).toEqual([])
    }),
    { numRuns: Math.ceil(HISTORIES / 2) },
  )
}, 300_000)
