import { expect, test } from 'vitest'
import type { OutgoingMessage } from '../netlink/message.ts'
import type { NetlinkSession } from '../netlink/session.ts'
import { message, writer } from './commands.ts'
import { countRules, listTables } from './list-tables.ts'

const table = (family: 4 | 6, name: string) => message('newTable', writer(family).text(1, name))
const chain = (family: 4 | 6, owner: string, name: string, use: number) =>
  message('newChain', writer(family).text(1, owner).text(3, name).be32(6, use))

test('tables are counted by the rules of their chains, also where the list was repeated', async () => {
  const chains = [chain(4, 'nat', 'A', 2), chain(4, 'nat', 'B', 3), chain(6, 'nat', 'A', 7)]
  const tables = [table(4, 'nat'), table(4, 'empty'), table(6, 'nat')]
  /** The attempts of each dump; what vanished after the first one is in that alone. */
  const dumps = [
    [[table(6, 'vanished'), ...tables], tables],
    [[...chains, chain(4, 'nat', 'vanished', 9)], chains],
  ]
  const dump: NetlinkSession['dump'] = async (_: OutgoingMessage, begin) => {
    for (const objects of dumps.shift() ?? []) {
      const visit = begin()
      for (const { type, flags, payload } of objects)
        visit({ type, flags, seq: 1, port: 0, payload })
    }
    return 0
  }
  expect(await countRules({ dump }, await listTables({ dump }))).toEqual([
    { family: 'ip', name: 'nat', rules: 5 },
    { family: 'ip', name: 'empty', rules: 0 },
    { family: 'ip6', name: 'nat', rules: 7 },
  ])
})
