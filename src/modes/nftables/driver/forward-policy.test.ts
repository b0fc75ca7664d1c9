import { expect, test } from 'vitest'
import type { Table } from '../../../kernel/nftables/objects.ts'
import { FakeNamespace } from '../../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../../kernel/nftables/testing/fake-nftables.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { forwardCaveats } from './nftables-driver.ts'

const hook = { type: 'filter', hook: 'forward', priority: 0 } as const

async function rig(chain: string, dropsByDefault: boolean) {
  const nftables = new FakeNftables(new FakeNamespace(new FakeClock()))
  const table: Table = { family: 6, name: 'filter' }
  const spec = { hook: { ...hook, ...(dropsByDefault && { dropsByDefault }) } }
  await nftables.commit([
    { do: 'addTable', table },
    { do: 'addChain', table, chain, spec },
  ])
  return nftables
}

test('a chain FORWARD that drops by default is named with what would help', async () => {
  expect(await forwardCaveats(await rig('FORWARD', true), [4, 6])).toEqual([
    {
      code: 'NP_NFTABLES_FORWARD',
      what: 'the policy of chain FORWARD of ip6tables is DROP, which drops packets to endpoints in nftables mode',
      remedy: 'ip6tables -I FORWARD -m conntrack --ctstate DNAT -j ACCEPT, or mode: iptables',
    },
  ])
})

test.each([
  ['FORWARD', false, [4, 6]],
  ['OTHER', true, [4, 6]],
  ['FORWARD', true, [4]],
] as const)('chain %s, dropping: %s, of families %j is none', async (chain, drops, families) => {
  expect(await forwardCaveats(await rig(chain, drops), families)).toEqual([])
})
