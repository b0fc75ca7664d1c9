import { expect, it } from 'vitest'
import { unknownNames } from './field-types.ts'
import { isSelected } from './rules.ts'

const KNOWN = ['endpoints', 'endpointslices', 'loadbalancer']

it.each([
  ['*', KNOWN],
  ['*,-endpoints', ['endpointslices', 'loadbalancer']],
  ['-endpoints,*', ['endpointslices', 'loadbalancer']],
  ['endpoints', ['endpoints']],
  ['endpoints,-endpoints', []],
  ['-endpoints', []],
  ['', []],
])('--controllers=%s runs %j', (flag, selected) => {
  expect(KNOWN.filter((name) => isSelected(name, flag.split(',')))).toEqual(selected)
})

it('a name that no controller has is found', () => {
  expect(unknownNames(['*', '-endpoints', 'endpoint', '-', '-*'], KNOWN)).toEqual([
    'endpoint',
    '-',
    '-*',
  ])
})
