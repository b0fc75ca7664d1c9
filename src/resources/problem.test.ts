import { expect, test } from 'vitest'
import { Findings } from './problem.ts'

test('a node hears what happens instead, a writer does not', () => {
  const [decoded, validated] = (['decode', 'validate'] as const).map((reading) => {
    const findings = new Findings(reading)
    findings.add('spec.x', 1, 'must be 2', '3 is used')
    return findings.all
  })
  expect(decoded).toEqual([{ field: 'spec.x', value: '1', message: 'must be 2; 3 is used' }])
  expect(validated).toEqual([{ field: 'spec.x', value: '1', message: 'must be 2' }])
})

test('the same problem is kept once', () => {
  const findings = new Findings('decode')
  findings.add('a', 1, 'm')
  findings.add('a', 1, 'm')
  findings.add('a', 2, 'm')
  expect(findings.all).toHaveLength(2)
})

test('of many problems the first 50 are kept', () => {
  const findings = new Findings('decode')
  for (let index = 0; index < 10_000; index++) findings.add(`list[${index}]`, index, 'wrong')
  expect(findings.all).toHaveLength(51)
  expect(findings.all[49]?.field).toBe('list[49]')
  expect(findings.all[50]?.message).toContain('there is more')
})
