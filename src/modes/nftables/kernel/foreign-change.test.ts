import { expect, test } from 'vitest'
import type { TouchedObject } from '../../../kernel/nftables/object-collector.ts'
import { SET, tableOf } from '../keys/names.ts'
import { keyOf } from '../keys/object-key.ts'
import { foreignChange } from '../mode.ts'
import { Suspects } from './managed-state.ts'

const table = tableOf(4)
const by = { pid: 7, process: 'nft' }
const FRONTEND = keyOf(4, 'frontend', '10.96.0.1:80/TCP')
const key = Buffer.from([10, 96, 0, 1, 6, 0, 0, 0, 0, 80, 0, 0])
const element = (set: string): TouchedObject => ({ table, kind: 'element', set, element: { key } })

function report(touched: readonly TouchedObject[] | 'unknown', suspects = new Suspects()) {
  return foreignChange({ touched, by, generation: 1 }, suspects)
}

test('a chain, a set and an element are the objects that they belong to, once each', () => {
  const change = report([
    { table, kind: 'chain', name: 'dispatch' },
    { table, kind: 'chain', name: 'dispatch' },
    { table, kind: 'set', name: 'same-byte' },
    element(SET.services),
    element(SET.limitedServices),
  ])
  expect(change).toEqual({
    keys: [keyOf(4, 'chain', 'dispatch'), keyOf(4, 'set', 'same-byte'), FRONTEND],
    by: 'nft (pid 7)',
  })
})

test('an element becomes a suspect of its object', () => {
  const suspects = new Suspects()
  report([element(SET.services)], suspects)
  expect(suspects.take(FRONTEND)).toEqual([{ set: SET.services, element: { key } }])
})

test.each<[string, readonly TouchedObject[] | 'unknown']>([
  ['a table', [{ table, kind: 'table' }]],
  ['a map with elements of frontends', [{ table, kind: 'set', name: SET.services }]],
  ['what is unknown', 'unknown'],
])('%s is everything', (_what, touched) => {
  expect(report(touched)).toEqual({ keys: 'all', by: 'nft (pid 7)' })
})

test('too many elements are everything', () => {
  const many = Array.from({ length: 5_001 }, () => element(SET.services))
  expect(report(many)?.keys).toBe('all')
})

test('a client that another program added is of no object', () => {
  expect(report([element('affinity-x')])).toBeUndefined()
})

test('who is not named is another program', () => {
  const change = { touched: 'unknown', by: undefined, generation: undefined } as const
  expect(foreignChange(change, new Suspects())?.by).toBe('another program')
})
