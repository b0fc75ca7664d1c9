import { expect, test } from 'vitest'
import {
  fakeRedirectKernel,
  fakeUserspaceNode,
  redirected,
} from '../../../test/support/modes/fake-userspace-node.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { entry, settings } from '../testing/mode-fixtures.ts'
import { UserspaceMode } from './mode.ts'

async function left() {
  const kernel = fakeRedirectKernel()
  await kernel.sets.run([
    { do: 'create', name: 'OTHER', type: { type: 'hash:ip', family: 4, maxElements: 8 } },
  ])
  kernel.iptables.alter(4, '*nat\n:OTHER - [0:0]\n-A PREROUTING -j OTHER\nCOMMIT\n')
  await fakeUserspaceNode({ kernel }).sync(entry())
  return kernel
}

test('nothing of ours is left, of other settings too, and all of others', async () => {
  const kernel = await left()
  const given = redirected({ netfilter: settings({ masqueradeBit: 9 }), nodeAddresses: [] })
  const mode = new UserspaceMode(given, { kernel })
  for (const _ of ['once', 'again']) {
    await mode.cleanup()
    expect(await kernel.sets.names('')).toEqual(['OTHER'])
    expect(kernel.iptables.dump()).not.toContain('NPUS')
    expect(kernel.iptables.dump()).toContain('-A PREROUTING -j OTHER')
    expect(await kernel.routes.list()).toEqual([])
  }
})

test('what cannot be removed is thrown in the end, and the rest is removed', async () => {
  const kernel = await left()
  kernel.routes.refusal = new NodeProxyError('NP_KERNEL_ROUTE', 'ip rule: EPERM')
  const mode = new UserspaceMode(redirected(), { kernel })
  await expect(mode.cleanup()).rejects.toThrow('ip rule: EPERM')
  expect(await kernel.sets.names('')).toEqual(['OTHER'])
  kernel.routes.refusal = undefined
  await mode.cleanup()
  expect(await kernel.routes.list()).toEqual([])
})

test('connections that rules of an earlier run translated are forgotten', async () => {
  const kernel = await left()
  const mode = new UserspaceMode(redirected(), { kernel })
  await mode.cleanup()
  await mode.cleanup()
  const ports = new Set([41_001, 41_002, 61_001, 61_002])
  expect(kernel.conntrack.translated).toEqual([{ ports, protocols: ['TCP', 'UDP'], which: 'all' }])
})
