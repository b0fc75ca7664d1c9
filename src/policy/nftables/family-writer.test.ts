import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { rule, verdict } from '../../kernel/nftables/rules/statements.ts'
import { FakeNamespace } from '../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../kernel/nftables/testing/fake-nftables.ts'
import { FakeObjectMonitor } from '../../kernel/nftables/testing/fake-object-monitor.ts'
import type { ForeignCommand } from '../../kernel/nftables/testing/foreign-command.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { PolicyContent, SetName } from '../policy-content.ts'
import { FamilyWriter, whyNotLogged } from './family-writer.ts'
import { CHAIN, TABLE, tableOf } from './render.ts'
import { EMPTY, ScriptedSource } from './testing/scripted-source.ts'

const { EBUSY, EINVAL, EPERM } = constants.errno
const settings = { unknownPods: 'allow', logDeniedPerSecond: 0 } as const

function kernel() {
  const namespace = new FakeNamespace(new FakeClock())
  const nftables = new FakeNftables(namespace)
  const monitor = new FakeObjectMonitor(namespace, { table: TABLE, exceptPort: nftables.port })
  return { namespace, nftables, monitor }
}

function withPeers(...ips: readonly string[]): PolicyContent {
  const members = new Set(ips as readonly IpAddress[])
  return { ...EMPTY, sets: new Map([['peers' as SetName, { kind: 'pods', members, comment: '' }]]) }
}

test('a large write is no change by others, and hides none', async () => {
  const { namespace, nftables, monitor } = kernel()
  const changes: unknown[] = []
  monitor.start(({ touched }) => changes.push(touched))
  const writer = new FamilyWriter(4, { nftables, monitor })
  const write = (third: number) => {
    const ips = Array.from({ length: 5_000 }, (_, at) => `10.${third}.${at >> 8}.${at & 255}`)
    return writer.writeAll({ content: withPeers(...ips), settings })
  }
  await write(1)
  expect(changes).toEqual([])
  const foreign = { do: 'addChain', table: { ...tableOf(4), name: 'other' }, chain: 'x' } as const
  namespace.alter({ do: 'addTable', table: foreign.table })
  for (const work of [() => undefined, () => namespace.alter({ ...foreign, spec: {} })]) {
    nftables.meanwhile(work)
  }
  await write(2)
  expect(changes).toEqual(['unknown'])
})

test('a member of the other family is no change', async () => {
  const { nftables, monitor } = kernel()
  const writer = new FamilyWriter(4, { nftables, monitor })
  const model = new ScriptedSource(withPeers('10.1.0.2'))
  model.takeChanges()
  await writer.writeAll({ content: model.content, settings })
  const before = nftables.transactions.length
  model.apply([withPeers('10.1.0.2', 'fd01::2')])
  await writer.writeChanges({ content: model.content, settings }, model.takeChanges())
  expect(nftables.transactions).toHaveLength(before)
})

/** What `writeAll` did in a kernel with the content of two peers. */
function writing() {
  const { namespace, nftables, monitor } = kernel()
  const writer = new FamilyWriter(4, { nftables, monitor })
  const write = () => writer.writeAll({ content: withPeers('10.1.0.2', '10.1.0.3'), settings })
  return { namespace, nftables, write }
}

test('a kernel that does not know persistent tables gets an ordinary one, which stays', async () => {
  const { namespace, nftables, write } = writing()
  nftables.refuse(EINVAL, (one) => one.do === 'addTable' && one.spec?.isPersistent === true)
  await write()
  expect(namespace.table(tableOf(4))?.isPersistent).toBe(false)
  expect((await write()).names).toEqual([])
})

test('an ordinary table of an earlier run is replaced by a persistent one, and nothing else is left', async () => {
  const { namespace, write } = writing()
  namespace.alter({ do: 'addTable', table: tableOf(4) })
  expect((await write()).names).toEqual([TABLE])
  expect(namespace.table(tableOf(4))).toMatchObject({
    isPersistent: true,
    owner: expect.anything(),
  })
  expect(namespace.table({ family: 4, name: `${TABLE}-probe` })).toBeUndefined()
})

test('the question whether rules can log leaves nothing', async () => {
  const { namespace, nftables } = kernel()
  expect(await whyNotLogged(nftables)).toBeUndefined()
  expect(namespace.table({ family: 4, name: `${TABLE}-probe` })).toBeUndefined()
})

test('what others changed is named: sets, chains and rules', async () => {
  const { namespace, nftables, write } = writing()
  const table = tableOf(4)
  nftables.refuse(EINVAL, (one) => one.do === 'addTable' && one.spec?.isPersistent === true)
  await write()
  const dump = namespace.dump()
  const accept = rule(verdict('accept'))
  const [chain, set] = ['foreign', 'more']
  const changes: readonly (readonly [string, readonly ForeignCommand[]])[] = [
    [set, [{ do: 'addSet', table, set, spec: { key: ['ipv4_addr'] } }]],
    [chain, [{ do: 'addChain', table, chain }]],
    [
      CHAIN.fromBeginning,
      [
        { do: 'flushChain', table, chain: CHAIN.fromBeginning },
        { do: 'addRule', table, chain: CHAIN.fromBeginning, rule: accept },
      ],
    ],
  ]
  for (const [name, commands] of changes) {
    expect(namespace.alter(...commands)).toBeUndefined()
    expect((await write()).names).toEqual([name])
    expect(namespace.dump()).toEqual(dump)
  }
})

test('any number of objects that the kernel refuses is left out', async () => {
  const { nftables, monitor } = kernel()
  const writer = new FamilyWriter(4, { nftables, monitor })
  const names = Array.from({ length: 9 }, (_, at) => `other-${at}` as SetName)
  const sets = new Map(
    names.map(
      (name) => [name, { kind: 'pods', members: new Set<IpAddress>(), comment: '' }] as const,
    ),
  )
  nftables.refuse(EBUSY, (one) => one.do === 'addSet' && one.set.startsWith('other-'))
  const { refused } = await writer.writeAll({ content: { ...EMPTY, sets }, settings })
  expect([...refused.keys()].toSorted()).toEqual(names)
})

test('a refusal without a name, of what others changed meanwhile, is followed by another attempt', async () => {
  const { nftables, write } = writing()
  let left = 1
  nftables.refuse(EBUSY, (one) => one.do === 'addElements' && left-- > 0, false)
  expect((await write()).refused.size).toBe(0)
})

test.each([
  ['a right that is missing', EPERM, 'peers'],
  ['a base chain', EBUSY, CHAIN.ingress],
] as const)('%s is no refusal of one object: nothing counts as written', async (_, errno, name) => {
  const { nftables, write } = writing()
  nftables.refuse(
    errno,
    (one) => ('set' in one && one.set === name) || (one.do === 'addChain' && one.chain === name),
  )
  await expect(write()).rejects.toMatchObject({ code: 'NP_POLICY_REFUSED' })
})
