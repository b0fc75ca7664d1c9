import { expect, test } from 'vitest'
import { FakeSets } from '../../../kernel/ipset/fake-sets.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { keptSets } from '../../../modes/userspace/names.ts'
import { ScriptedMode } from '../../../sync/testing/scripted-mode.ts'
import { configuration } from '../../testing/wiring.ts'
import { UserspaceLeftovers } from './userspace-leftovers.ts'

function rig() {
  const sets = new FakeSets()
  const calls: string[] = []
  const open = async () => ({
    build() {
      calls.push('build')
      return Object.assign(new ScriptedMode(), { retire: async () => void calls.push('retire') })
    },
    close: () => void calls.push('close'),
  })
  const situation = () => ({
    ...{ config: configuration(), node: undefined, localAddresses: [] },
    facts: { families: [4], hairpin: 'rules', randomFully: true, routesLocalnet: false } as const,
  })
  return { sets, calls, leftovers: new UserspaceLeftovers({ sets, open, situation }) }
}

test('where a set of the mode is left, everything of it is removed', async () => {
  const { sets, calls, leftovers } = rig()
  const [{ name, type }] = keptSets([4]) as [{ name: string; type: never }]
  await sets.run([{ do: 'create', name, type }])
  await leftovers.retire(new AbortController().signal)
  expect(calls).toEqual(['build', 'retire', 'close'])
})

test('where there is none nothing is loaded', async () => {
  const { sets, calls, leftovers } = rig()
  await leftovers.retire(new AbortController().signal)
  sets.names = () => Promise.reject(new NodeProxyError('NP_KERNEL_IPSET', 'no ip_set'))
  await leftovers.retire(new AbortController().signal)
  expect(calls).toEqual([])
})

test('sets that cannot be asked are no reason to believe that', async () => {
  const { sets, leftovers } = rig()
  sets.names = () => Promise.reject(new NodeProxyError('NP_KERNEL_NETLINK', 'lost'))
  await expect(leftovers.retire(new AbortController().signal)).rejects.toThrow('lost')
})
