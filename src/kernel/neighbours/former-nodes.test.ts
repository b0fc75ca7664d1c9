import { expect, test } from 'vitest'
import type { Family, IpAddress } from '../../lib/ip.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { FakeNamespace } from '../nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../nftables/testing/fake-nftables.ts'
import { FormerNodes, TABLE } from './former-nodes.ts'

function scene() {
  const namespace = new FakeNamespace(new FakeClock())
  const opened: FakeNftables[] = []
  const causes: string[] = []
  const clock = new FakeClock()
  const nodes = new FormerNodes({
    clock,
    openNftables: () => {
      opened.push(new FakeNftables(namespace))
      return opened.at(-1)!
    },
    onRefused: (cause) => causes.push(cause),
  })
  /** The addresses and their former nodes, as bytes; undefined: there is no table. */
  const present = async (family: Family) => {
    const reader = new FakeNftables(namespace)
    const table = { family, name: TABLE }
    if ((await reader.read(table)) === undefined) return undefined
    const found: string[] = []
    await reader.elements(table, 'former-nodes', ({ key, data }) => {
      found.push(`${key.toString('hex')} ${(data as Buffer).toString('hex')}`)
    })
    return found.toSorted()
  }
  const use = (former: Readonly<Record<string, string>>) =>
    nodes.use(new Map(Object.entries(former) as [IpAddress, IpAddress][]))
  /** What follows after the given-up addresses are forgotten. */
  const later = () => clock.advance(2_000)
  return { opened, causes, nodes, present, use, later }
}

test('the kernel has the addresses with their former nodes, and no table without them', async () => {
  const { present, use, nodes, opened, later } = scene()
  await use({})
  expect(opened).toEqual([])
  await use({ '192.0.2.50': '192.0.2.11', '192.0.2.51': '192.0.2.11' })
  expect(await present(4)).toEqual(['c0000232 c000020b', 'c0000233 c000020b'])
  expect(await present(6)).toBeUndefined()
  await use({
    '192.0.2.50': '192.0.2.12',
    '192.0.2.51': '192.0.2.11',
    '2001:db8::50': '2001:db8::12',
  })
  expect(await present(4)).toEqual(['c0000232 c000020c', 'c0000233 c000020b'])
  expect(await present(6)).toEqual([
    '20010db8000000000000000000000050 20010db8000000000000000000000012',
  ])
  const { length } = opened[0]!.transactions
  await use({
    '192.0.2.50': '192.0.2.12',
    '192.0.2.51': '192.0.2.11',
    '2001:db8::50': '2001:db8::12',
  })
  expect(opened[0]!.transactions).toHaveLength(length)
  await use({ '2001:db8::50': '2001:db8::12' })
  await later()
  expect(await present(4)).toBeUndefined()
  expect(await present(6)).toHaveLength(1)
  const closed = nodes.close()
  await later()
  await closed
  expect(await present(6)).toBeUndefined()
  expect(opened).toHaveLength(1)
})

test('an address that was given up is passed on until the network knows the next node', async () => {
  const { present, use, later } = scene()
  await use({ '192.0.2.50': '192.0.2.11' })
  await use({})
  expect(await present(4)).toEqual(['c0000232 c000020b'])
  await use({ '192.0.2.50': '192.0.2.12' })
  await later()
  expect(await present(4)).toEqual(['c0000232 c000020c'])
  await use({})
  await later()
  expect(await present(4)).toBeUndefined()
})

test('a kernel that refuses is reported once, and gets everything with the next change', async () => {
  const { present, use, causes, opened } = scene()
  await use({ '192.0.2.50': '192.0.2.11' })
  opened[0]!.refuse(2, (command) => command.do === 'addElements')
  await use({ '192.0.2.50': '192.0.2.11', '192.0.2.51': '192.0.2.11' })
  expect(await present(4)).toBeUndefined()
  await use({ '192.0.2.50': '192.0.2.11', '192.0.2.51': '192.0.2.12' })
  expect(await present(4)).toEqual(['c0000232 c000020b', 'c0000233 c000020c'])
  expect(causes).toEqual([expect.stringContaining('ENOENT')])
})
