import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { fakeNftablesNode, stateOf } from '../../../../test/support/modes/fake-nftables-node.ts'
import type { EntryId, ForwardingEntry } from '../../../forwarding/entry.ts'
import type { Command } from '../../../kernel/nftables/objects.ts'
import { backend, entry, frontend, ip } from '../../testing/mode-fixtures.ts'
import { tableOf } from '../keys/names.ts'
import { keyOf } from '../keys/object-key.ts'

const { EEXIST, EINVAL, EMSGSIZE, ENOENT, ENOMEM, EPERM } = constants.errno
const ONLY_4 = { settings: { families: [4] } } as const

function service(number: number, overrides: Partial<ForwardingEntry> = {}): ForwardingEntry {
  return entry({
    id: `shop/s${number}` as EntryId,
    frontends: [frontend({ ip: ip(`172.30.${number >> 8}.${number & 255}`) })],
    ...overrides,
  })
}
const services = (count: number) => Array.from({ length: count }, (_, number) => service(number))

/** Commands with an element of this Service in `services`. */
const of = (number: number) => (command: Command) =>
  command.do === 'addElements' &&
  command.elements.some(({ comment }) => comment === `shop/s${number}`)

async function started(...entries: readonly ForwardingEntry[]) {
  const node = fakeNftablesNode(ONLY_4)
  await node.sync(...entries)
  node.nftables.transactions.length = 0
  return node
}

async function fresh(...entries: readonly ForwardingEntry[]) {
  return stateOf((await started(...entries)).namespace)
}

test('a small change is one transaction', async () => {
  const node = await started()
  const { failed } = await node.sync(service(1), service(2))
  expect([...failed]).toEqual([])
  expect(node.nftables.transactions).toHaveLength(1)
})

test('the object at fault is left out, and only that', async () => {
  const node = await started()
  node.nftables.refuse(EINVAL, of(1))
  const { failed, uncertain } = await node.sync(...services(3))
  expect([...failed]).toEqual([
    [
      '4/frontend/172.30.0.1:80/TCP',
      { code: 'NP_NFTABLES_REFUSED', message: expect.stringContaining('EINVAL') },
    ],
  ])
  expect(uncertain).toBe(false)
  const dump = stateOf(node.namespace).join('\n')
  expect(dump).toContain('shop/s2')
  expect(dump).not.toContain('shop/s1')
})

test('a refused object is written when the kernel takes it again', async () => {
  const node = await started()
  const end = node.nftables.refuse(EINVAL, of(1))
  await node.sync(...services(3))
  end()
  expect((await node.retry()).failed.size).toBe(0)
  expect(stateOf(node.namespace)).toEqual(await fresh(...services(3)))
})

test('after 32 objects at fault the rest of the transaction waits', async () => {
  const node = await started()
  node.nftables.refuse(EINVAL, (command) => of(39)(command) || command.do === 'addElements')
  const { failed } = await node.sync(...services(40))
  expect(failed.size).toBeGreaterThanOrEqual(80)
  expect(node.nftables.transactions.length).toBeLessThan(40)
})

test('where the kernel names no command, halves find the object at fault', async () => {
  const node = await started()
  node.nftables.refuse(EINVAL, of(3), false)
  const { failed } = await node.sync(...services(8))
  expect([...failed.keys()]).toEqual(['4/frontend/172.30.0.3:80/TCP'])
  expect(stateOf(node.namespace).join('\n')).toContain('shop/s7')
})

test.each([EPERM, ENOMEM, EMSGSIZE])(
  'errno %i is of no object: nothing is tried again',
  async (errno) => {
    const node = await started()
    const before = stateOf(node.namespace)
    node.nftables.failNext({ kind: 'refused', errno, command: 0 })
    const { failed } = await node.sync(...services(2))
    expect(failed.size).toBeGreaterThan(3)
    expect(node.nftables.transactions).toHaveLength(1)
    expect(stateOf(node.namespace)).toEqual(before)
  },
)

test('what another program deleted unheard is no refusal of its deletion', async () => {
  const node = await started(service(1))
  node.namespace.alter({ do: 'flushSet', table: tableOf(4), set: 'endpoints' })
  const other = service(1, { pools: { cluster: [backend('10.180.0.9')], local: [] } })
  const { failed } = await node.sync(other)
  expect([...failed]).toEqual([])
  expect(stateOf(node.namespace)).toEqual(await fresh(other))
})

test('a table that is gone while the daemon writes is noticed', async () => {
  const node = await started()
  node.nftables.meanwhile(() => node.namespace.alter({ do: 'deleteTable', table: tableOf(4) }))
  const { failed, uncertain } = await node.sync(service(1))
  expect(failed.size).toBeGreaterThan(0)
  expect(uncertain).toBe(true)
  await node.look()
  await node.write(Number.POSITIVE_INFINITY)
  expect(stateOf(node.namespace)).toEqual(await fresh(service(1)))
})

test('a chain that was emptied and not deleted is read again', async () => {
  const sticky = service(1, { affinity: { seconds: 60 } })
  const node = await started(sticky)
  node.nftables.refuse(
    ...([EINVAL, (command: Command) => command.do === 'deleteElements', false] as const),
  )
  const { failed, uncertain } = await node.remove(sticky.id)
  expect(failed.size).toBeGreaterThan(0)
  expect(uncertain).toBe(true)
})

test('a set that has lost a backend before it was refused is read again', async () => {
  const sticky = (address: string) =>
    service(1, {
      affinity: { seconds: 60 },
      pools: { cluster: [backend(address)], local: [] },
    })
  const node = await started(sticky('10.180.0.1'))
  const end = node.nftables.refuse(
    EINVAL,
    (command) => command.do === 'addElements' && command.set.startsWith('backends-'),
  )
  const { failed, uncertain } = await node.sync(sticky('10.180.0.9'))
  expect([...failed.keys()]).toEqual([expect.stringMatching('4/set/backends-')])
  expect(uncertain).toBe(true)
  end()
  await node.look()
  await node.sync(sticky('10.180.0.1'))
  expect(stateOf(node.namespace)).toEqual(await fresh(sticky('10.180.0.1')))
})

const otherForm = [
  ...(['prerouting', 'prerouting-again', 'output', 'output-again'] as const).map(
    (chain) => ({ do: 'flushChain', table: tableOf(4), chain }) as const,
  ),
  { do: 'deleteSet', table: tableOf(4), set: 'source-ranges' },
  { do: 'addSet', table: tableOf(4), set: 'source-ranges', spec: { key: ['mark'] } },
] as const

test('a table with a set of another form is replaced in one transaction', async () => {
  const node = await started(service(1))
  node.namespace.alter(...otherForm)
  await node.look()
  const { failed, uncertain } = await node.write()
  expect([...failed]).toEqual([])
  expect(uncertain).toBe(true)
  expect(node.nftables.transactions).toHaveLength(1)
  expect(node.nftables.transactions[0]?.[0]).toEqual({ do: 'deleteTable', table: tableOf(4) })
  expect(stateOf(node.namespace)).toEqual(await fresh(service(1)))
})

test('so it is where another form shows only in the refusal', async () => {
  const node = await started(service(1))
  node.nftables.failNext({ kind: 'refused', errno: EEXIST, command: 0 }, 2)
  const sticky = service(2, { affinity: { seconds: 60 } })
  const { failed } = await node.sync(sticky)
  expect([...failed]).toEqual([])
  expect(node.nftables.transactions.map(([first]) => first?.do)).toEqual([
    'addSet',
    'addSet',
    'deleteTable',
  ])
  expect(stateOf(node.namespace)).toEqual(await fresh(service(1), sticky))
})

test('a refused replacement leaves the table, and all of the change undone', async () => {
  const node = await started(service(1), service(2))
  node.namespace.alter(...otherForm)
  const before = stateOf(node.namespace)
  await node.look()
  node.nftables.failNext({ kind: 'refused', errno: ENOENT, command: 3 })
  const { failed } = await node.remove('shop/s2')
  expect([...failed.keys()]).toContain(keyOf(4, 'frontend', '172.30.0.2:80/TCP'))
  expect([...failed.keys()]).toContain(keyOf(4, 'chain', 'prerouting'))
  expect(stateOf(node.namespace)).toEqual(before)
})
