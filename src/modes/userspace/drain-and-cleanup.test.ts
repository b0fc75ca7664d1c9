import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  type FakeRedirectKernel,
  fakeRedirectKernel,
  fakeUserspaceNode,
  redirected,
} from '../../../test/support/modes/fake-userspace-node.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { entry, frontend } from '../testing/mode-fixtures.ts'
import { UserspaceMode } from './mode.ts'

const PATIENT = new AbortController().signal

async function serving(kernel = fakeRedirectKernel()) {
  const node = fakeUserspaceNode({ kernel })
  await node.sync(entry({ frontends: [frontend({ sourceRanges: [] })], healthCheckPort: 32_000 }))
  return node
}

async function entriesOf({ sets }: FakeRedirectKernel): Promise<number> {
  const headers = await sets.headers('NPUS-')
  return [...headers.values()].reduce((sum, { entries }) => sum + entries, 0)
}

async function expectNothingLeft(kernel: FakeRedirectKernel): Promise<void> {
  expect(await kernel.sets.names('')).toEqual([])
  expect(kernel.iptables.dump()).not.toContain('NPUS')
  expect(await kernel.routes.list()).toEqual([])
}

test('nothing new is taken at once; what there is stays until it has ended', async () => {
  const { kernel, mode, forwarder } = await serving()
  const retired = mode.drainAndCleanup(PATIENT)
  await setImmediate()
  expect(await entriesOf(kernel)).toBe(0)
  expect(kernel.iptables.dump()).toContain('-A PREROUTING -j NPUS-ROUTE')
  expect(await kernel.routes.list()).toHaveLength(2)
  expect(forwarder.routes.size).toBe(1)
  forwarder.endConnections()
  await retired
  await expectNothingLeft(kernel)
})

test('aborted, it leaves everything as it is then', async () => {
  const { kernel, mode } = await serving()
  await mode.drainAndCleanup(AbortSignal.abort())
  expect(await entriesOf(kernel)).toBeGreaterThan(0)
  const stop = new AbortController()
  const retired = mode.drainAndCleanup(stop.signal)
  await setImmediate()
  stop.abort()
  await retired
  expect(await entriesOf(kernel)).toBe(0)
  expect(kernel.iptables.dump()).toContain('NPUS-ROUTE')
})

test('where another mode takes new connections, the forwarder keeps those that it has', async () => {
  const { kernel, mode, forwarder } = await serving()
  await mode.takeNoMore()
  expect(await entriesOf(kernel)).toBe(0)
  expect(kernel.iptables.dump()).toContain('-A PREROUTING -j NPUS-ROUTE')
  expect(await kernel.routes.list()).toHaveLength(2)
  expect(forwarder.routes.size).toBe(1)
})

test('what an earlier run left is removed without a forwarder', async () => {
  const { kernel } = await serving()
  await new UserspaceMode(redirected(), { kernel }).drainAndCleanup(PATIENT)
  await expectNothingLeft(kernel)
})

test('a kernel without sets has nothing to leave; one that does not answer is none', async () => {
  const kernel = fakeRedirectKernel()
  const missing = new NodeProxyError('NP_KERNEL_IPSET', 'this kernel has no ip_set')
  kernel.sets.headers = () => Promise.reject(missing)
  kernel.sets.names = () => Promise.reject(missing)
  const mode = new UserspaceMode(redirected(), { kernel })
  await mode.drainAndCleanup(PATIENT)
  expect(kernel.iptables.texts).toEqual([])
  kernel.sets.headers = () => Promise.reject(new NodeProxyError('NP_KERNEL_NETLINK', 'no answer'))
  await expect(mode.drainAndCleanup(PATIENT)).rejects.toThrow('no answer')
})
