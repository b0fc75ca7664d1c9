import { expect, test } from 'vitest'
import { FakeSets } from '../../../kernel/ipset/testing/fake-sets.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { configuration } from '../../../nodeproxy/testing/wiring.ts'
import { ScriptedMode } from '../../../sync/testing/scripted-mode.ts'
import { SETS } from '../names.ts'
import { UserspacePendingCleanup } from './pending-cleanup.ts'

function rig() {
  const sets = new FakeSets()
  const calls: string[] = []
  const open = async () => ({
    build() {
      calls.push('build')
      return Object.assign(new ScriptedMode(), {
        drainAndCleanup: async () => void calls.push('drainAndCleanup'),
      })
    },
    close: () => void calls.push('close'),
  })
  const inputs = () => ({
    config: configuration(),
    node: undefined,
    localAddresses: [],
    facts: { families: [4], hairpin: 'rules', randomFully: true, routesLocalnet: false } as const,
  })
  return { sets, calls, leftovers: new UserspacePendingCleanup({ sets, open, inputs }) }
}

test('where a set of the mode is left, everything of it is removed', async () => {
  const { sets, calls, leftovers } = rig()
  const { name, type } = SETS[4].of('SERVICES')
  await sets.run([{ do: 'create', name, type }])
  await leftovers.drainAndCleanup(new AbortController().signal)
  expect(calls).toEqual(['build', 'drainAndCleanup', 'close'])
})

test('where there is none nothing is loaded', async () => {
  const { sets, calls, leftovers } = rig()
  await leftovers.drainAndCleanup(new AbortController().signal)
  sets.names = () => Promise.reject(new NodeProxyError('NP_KERNEL_IPSET', 'no ip_set'))
  await leftovers.drainAndCleanup(new AbortController().signal)
  expect(calls).toEqual([])
})

test('sets that cannot be read are no proof that none is left', async () => {
  const { sets, leftovers } = rig()
  sets.names = () => Promise.reject(new NodeProxyError('NP_KERNEL_NETLINK', 'lost'))
  await expect(leftovers.drainAndCleanup(new AbortController().signal)).rejects.toThrow('lost')
})
