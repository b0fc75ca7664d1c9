import { expect, test } from 'vitest'
import type { TouchedChain } from '../../kernel/nftables-monitor/rule-monitor.ts'
import type { ObjectKey } from '../mode.ts'
import { concernsUs, foreignChange } from './foreign-change.ts'

const touched = (chain: string | undefined, table = 'nat'): TouchedChain => {
  return { family: 4, table, chain }
}
const JUMP = '4/nat/PREROUTING>-j NPROXY-SERVICES' as ObjectKey
const jumpsIn = ({ chain }: TouchedChain) => (chain === 'PREROUTING' ? [JUMP] : [])
const told = (...places: readonly TouchedChain[]) =>
  foreignChange({ touched: places, by: undefined, generation: 1 }, jumpsIn)

test.each([
  ['a chain of ours', touched('NPROXY-VIPS'), true],
  ['a built-in chain', touched('PREROUTING'), true],
  ['a whole table', touched(undefined), true],
  ['a chain of others', touched('cali-nat-outgoing'), false],
  ['another table', touched('PREROUTING', 'mangle'), false],
])('%s concerns us: %s', (_, place, concerned) => {
  expect(concernsUs(place)).toBe(concerned)
})

test('chains of ours and jumps in built-in chains are named, each once', () => {
  const places = [touched('NPROXY-VIPS'), touched('PREROUTING'), touched('NPROXY-VIPS')]
  expect(told(...places)).toEqual({
    keys: ['4/nat/NPROXY-VIPS', JUMP],
    by: 'another program',
  })
})

test('what touches none of our objects is nothing', () => {
  expect(told(touched('FOREIGN'), touched('POSTROUTING'))).toBeUndefined()
  expect(told()).toBeUndefined()
})

test('a whole table, or nobody knows what: everything is looked at', () => {
  const by = { pid: 7, process: 'nft' }
  expect(told(touched(undefined))?.keys).toBe('all')
  expect(foreignChange({ touched: 'unknown', by, generation: 1 }, jumpsIn)).toEqual({
    keys: 'all',
    by: 'nft (pid 7)',
  })
})
