import { describe, expect, test } from 'vitest'
import { parseOptions, USAGE } from './options.ts'

test('a number alone: the short tests beside two busy processes, for two hours at most', () => {
  expect(parseOptions(['20'])).toEqual({
    runs: 20,
    patterns: [],
    selection: 'short',
    projects: [],
    name: undefined,
    loads: [{ name: 'busy', count: 2 }],
    untilFailure: false,
    minutes: 120,
    json: false,
  })
})

test('every option', () => {
  const args = '5 test/kernel/drift src/uml --select=all --project=kernel --project nftables'
  const more = '--name=repaired --load=busy:4,disk,stops:3 --until-failure --minutes=7 --json'
  expect(parseOptions(`${args} ${more}`.split(' '))).toEqual({
    runs: 5,
    patterns: ['test/kernel/drift', 'src/uml'],
    selection: 'all',
    projects: ['kernel', 'nftables'],
    name: 'repaired',
    loads: [
      { name: 'busy', count: 4 },
      { name: 'disk', count: 1 },
      { name: 'stops', count: 3 },
    ],
    untilFailure: true,
    minutes: 7,
    json: true,
  })
})

test('no load, and help', () => {
  expect(parseOptions(['1', '--load=none'])).toMatchObject({ loads: [] })
  expect(parseOptions(['--help'])).toBe('help')
})

test('the help names every option', () => {
  const named = 'select project name load until-failure minutes json'.split(' ')
  expect(named.filter((name) => !USAGE.includes(`--${name}`))).toEqual([])
})

describe('refusals name the value and what is valid', () => {
  test.each([
    ['', 'N: "" is not a number from 1 to 10000'],
    ['0', 'N: "0" is not a number from 1 to 10000'],
    ['drift 3', 'N: "drift" is not'],
    ['3 --select=lng', '--select: "lng" is none of short, long, all'],
    ['3 --load=cpu', '--load: "cpu" is not none, or busy, disk, stops with a count'],
    ['3 --load=busy:2:3', '--load: "busy:2:3" is not'],
    ['3 --load=stops:10', '--load=stops: "10" is not a number from 1 to 9'],
    ['3 --load=', '--load: "" is not'],
    ['3 --minutes=1h', '--minutes: "1h" is not a number from 1 to 10080'],
    ['3 --mins=1', '--mins'],
  ])('%j', (words, message) => {
    expect(() => parseOptions(words.split(' '))).toThrow(message)
  })
})
