import { expect, test } from 'vitest'
import { type Options, parseOptions } from './options.ts'

function parsed(...args: readonly string[]): Options {
  const options = parseOptions(args)
  if (options === 'help') throw new Error('no help was requested')
  return options
}

test('a size has ten endpoints unless stated; the others are of the mode nftables alone', () => {
  const { sizes, shapes } = parsed('--sizes=100,50000x2,7x10')
  expect(sizes).toEqual([100, 7])
  expect(shapes.map(({ services, endpoints }) => [services, endpoints])).toEqual([
    [100, 10],
    [50_000, 2],
    [7, 10],
  ])
})

test('the sizes of all modes are the same without an option, and nftables has two more', () => {
  const { sizes, shapes } = parsed()
  expect(sizes).toEqual([100, 1_000, 5_000, 10_000])
  expect(shapes).toHaveLength(6)
})

test.each(['0', '50001', '100x', '100x101', '1x2x3', 'x5', 'a', '1.5'])('%s is no size', (text) => {
  expect(() => parsed(`--sizes=${text}`)).toThrow(`--sizes: "${text}" is not a number`)
})
