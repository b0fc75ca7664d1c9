import { expect, test } from 'vitest'
import { FakeNamespace } from '../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../kernel/nftables/testing/fake-nftables.ts'
import { FakeObjectMonitor } from '../../kernel/nftables/testing/fake-object-monitor.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { PolicyContent, SetName } from '../policy-content.ts'
import { FamilyWriter } from './family-writer.ts'
import { TABLE, tableOf } from './render.ts'
import { EMPTY, ScriptedSource } from './testing/scripted-source.ts'

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
