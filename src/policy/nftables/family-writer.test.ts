import { expect, test } from 'vitest'
import { FakeNamespace } from '../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../kernel/nftables/testing/fake-nftables.ts'
import { FakeObjectMonitor } from '../../kernel/nftables/testing/fake-object-monitor.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { SetName } from '../policy-content.ts'
import { FamilyWriter } from './family-writer.ts'
import { TABLE, tableOf } from './render.ts'
import { EMPTY } from './testing/scripted-source.ts'

const settings = { unknownPods: 'allow', logDeniedPerSecond: 0 } as const
const POD_SET = 'peers' as SetName

test('a large write is no change by others, and hides none', async () => {
  const namespace = new FakeNamespace(new FakeClock())
  const nftables = new FakeNftables(namespace)
  const monitor = new FakeObjectMonitor(namespace, { table: TABLE, exceptPort: nftables.port })
  const changes: unknown[] = []
  monitor.start(({ touched }) => changes.push(touched))
  const writer = new FamilyWriter(4, { nftables, monitor })
  const write = (third: number) => {
    const ips = Array.from({ length: 5_000 }, (_, at) => `10.${third}.${at >> 8}.${at & 255}`)
    const members = new Set(ips as readonly string[] as readonly IpAddress[])
    const sets = new Map([[POD_SET, { kind: 'pods', members, comment: '' } as const]])
    return writer.writeAll({ content: { ...EMPTY, sets }, settings })
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
