import { expect, test } from 'vitest'
import type { TouchedChain } from '../../../kernel/nftables/rule-monitor.ts'
import type { ObjectKey } from '../../mode.ts'
import { concerns, foreignChange } from './foreign-change.ts'
import type { ChainLocation, Table } from './object.ts'

const touched = (chain: string | undefined, table = 'nat'): TouchedChain => {
  return { family: 4, table, chain }
}
const ownedIn = (...tables: readonly Table[]) => ({ prefix: 'NPROXY-', tables })
const JUMP = '4/nat/PREROUTING>-j NPROXY-SERVICES' as ObjectKey
const jumpsIn = ({ chain }: ChainLocation) => (chain === 'PREROUTING' ? [JUMP] : [])
const reported = (...places: readonly TouchedChain[]) =>
  foreignChange(
    { touched: places, by: undefined, generation: 1 },
    ownedIn('nat', 'filter'),
    jumpsIn,
  )

test.each([
  ['a chain of ours', touched('NPROXY-VIPS'), true],
  ['a built-in chain', touched('PREROUTING'), true],
  ['a whole table', touched(undefined), true],
  ['a chain of others', touched('cali-nat-outgoing'), false],
  ['a chain of another mode', touched('NPVS-SERVICES'), false],
  ['another table', touched('PREROUTING', 'mangle'), false],
])('%s concerns us: %s', (_, place, concerned) => {
  expect(concerns(ownedIn('nat', 'filter'), place)).toBe(concerned)
})

test('a mode in mangle hears of mangle', () => {
  expect(concerns(ownedIn('mangle'), touched('PREROUTING', 'mangle'))).toBe(true)
  expect(concerns(ownedIn('mangle'), touched('PREROUTING'))).toBe(false)
})

test('chains of ours and jumps in built-in chains are named, each once', () => {
  const places = [touched('NPROXY-VIPS'), touched('PREROUTING'), touched('NPROXY-VIPS')]
  expect(reported(...places)).toEqual({
    keys: ['4/nat/NPROXY-VIPS', JUMP],
    by: 'another program',
  })
})

test('what touches none of our objects is nothing', () => {
  expect(reported(touched('FOREIGN'), touched('POSTROUTING'))).toBeUndefined()
  expect(reported()).toBeUndefined()
})

test('a whole table, or an unknown change: everything is checked', () => {
  const by = { pid: 7, process: 'nft' }
  expect(reported(touched('NPROXY-VIPS'), touched(undefined))?.keys).toBe('all')
  expect(foreignChange({ touched: 'unknown', by, generation: 1 }, ownedIn('nat'), jumpsIn)).toEqual(
    {
      keys: 'all',
      by: 'nft (pid 7)',
    },
  )
})
