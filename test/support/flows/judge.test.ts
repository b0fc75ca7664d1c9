import { expect, test } from 'vitest'
import type { ConnectOutcome } from '../agent/protocol.ts'
import { type Expectation, ipOf, judge } from './judge.ts'

const CLIENT = '10.0.0.2'
const base = { source: CLIENT, nodeAddresses: new Set(['192.168.0.2']) } as const
const answered = (name: string, ip = CLIENT): ConnectOutcome => ({
  kind: 'answered',
  name,
  peer: `${ip}:40000`,
})
const deliver: Expectation = {
  ...base,
  outcome: 'deliver',
  endpoints: ['10.1.0.1:80', '10.1.0.2:80'],
  masquerade: false,
}
const both = [answered('10.1.0.1:80'), answered('10.1.0.2:80')]
const bothFromNode = both.map((_, i) => answered(`10.1.0.${i + 1}:80`, '192.168.0.2'))

/** One good example per expectation; every other row below is a way to be wrong. */
const right: readonly (readonly [Expectation, readonly ConnectOutcome[]])[] = [
  [deliver, both],
  [{ ...deliver, masquerade: true }, bothFromNode],
  [{ ...deliver, distinct: 1 }, [answered('10.1.0.2:80'), answered('10.1.0.2:80')]],
  [{ ...base, outcome: 'reject' }, [{ kind: 'refused' }]],
  [{ ...base, outcome: 'drop' }, [{ kind: 'timeout' }]],
  [{ ...base, outcome: 'unhandled' }, [answered('sink:world')]],
  [{ ...base, outcome: 'accept' }, [{ kind: 'mute' }]],
]

test.each(right)('accepts what is right: %j', (expected, outcomes) => {
  expect(judge(expected, outcomes)).toEqual([])
})

test('reports every other kind of outcome as wrong', () => {
  for (const [index, [expected]] of right.entries()) {
    for (const [other, [, outcomes]] of right.entries()) {
      if (index !== other) expect(judge(expected, outcomes), `${index} / ${other}`).not.toEqual([])
    }
    expect(judge(expected, [{ kind: 'failed', code: 'EHOSTUNREACH' }])).not.toEqual([])
    expect(judge(expected, [])).not.toEqual([])
  }
})

test.each<[string, Expectation, readonly ConnectOutcome[]]>([
  ['a missing endpoint', deliver, [answered('10.1.0.1:80')]],
  ['a foreign endpoint', deliver, [...both, answered('10.1.0.3:80')]],
  ['a single lost connection', deliver, [...both, { kind: 'timeout' }]],
  ['a wanton masquerade', deliver, bothFromNode],
  ['a missing masquerade', { ...deliver, masquerade: true }, both],
  ['a client that does not stick', { ...deliver, distinct: 1 }, both],
  [
    'a masqueraded stray',
    { ...base, outcome: 'unhandled' },
    [answered('sink:node', '192.168.0.2')],
  ],
])('reports %s', (_what, expected, outcomes) => {
  expect(judge(expected, outcomes)).toHaveLength(1)
})

test('takes the address of either family', () => {
  expect(ipOf('10.0.0.1:80')).toBe('10.0.0.1')
  expect(ipOf('[fd00::1]:80')).toBe('fd00::1')
})
