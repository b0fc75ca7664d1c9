import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { fakeNftablesNode } from '../../../../test/support/modes/fake-nftables-node.ts'
import { entry } from '../../testing/mode-fixtures.ts'
import { cleanUp } from './managed-state.ts'

const other = { family: 4, name: 'other' } as const

test('the tables of both families go, and nothing else', async () => {
  const { namespace, nftables, sync } = fakeNftablesNode()
  await sync(entry())
  namespace.alter({ do: 'addTable', table: other })
  await cleanUp(nftables)
  expect(namespace.dump()).toEqual(['4 other'])
  const before = nftables.transactions.length
  await cleanUp(nftables)
  expect(nftables.transactions).toHaveLength(before)
})

test('what an earlier daemon left goes, too', async () => {
  const { namespace, sync, stop } = fakeNftablesNode()
  await sync(entry())
  stop()
  const { mode } = fakeNftablesNode({ namespace })
  await mode.drainAndCleanup(AbortSignal.abort())
  expect(namespace.dump()).not.toEqual([])
  await mode.drainAndCleanup(new AbortController().signal)
  expect(namespace.dump()).toEqual([])
})

test('a table that stays is named', async () => {
  const { nftables, sync } = fakeNftablesNode()
  await sync()
  nftables.failNext({ kind: 'refused', errno: constants.errno.EPERM, command: 0 })
  await expect(cleanUp(nftables)).rejects.toThrow(
    'table ip node-proxy could not be removed: EPERM: not permitted',
  )
})
