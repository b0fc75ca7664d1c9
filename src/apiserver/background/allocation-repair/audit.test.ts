import { expect, test } from 'vitest'
import { addressKey, nodePortKey } from '../../allocation/allocation-keys.ts'
import { type Allocation, auditAllocations, type Holder } from './audit.ts'

const IP = addressKey('10.96.0.10')
const PORT = nodePortKey('TCP', 30_080)

function holder(name: string, createRevision: number, ...holds: readonly string[]): Holder {
  return { key: name, revision: 9, createRevision, holds: new Set(holds) }
}

function allocation(key: string, owner: string): Allocation {
  return { key, owner, revision: 5 }
}

const NO_HOLDERS: ReadonlySet<string> = new Set()
const NONE = { leaked: [], missing: [], duplicates: [], outside: [] }
const [a, b] = [holder('a', 1, IP, PORT), holder('b', 2, IP)]

test.each<[string, readonly Allocation[], readonly Holder[], object]>([
  [
    'allocation and Service agree: no difference',
    [allocation(IP, 'a'), allocation(PORT, 'a')],
    [a],
    NONE,
  ],
  [
    'no Service has it: leaked',
    [allocation(IP, 'a')],
    [],
    { ...NONE, leaked: [allocation(IP, 'a')] },
  ],
  [
    'there is no allocation: missing',
    [allocation(PORT, 'a')],
    [a],
    { ...NONE, missing: [{ key: IP, revision: 0, holder: a }] },
  ],
  [
    'the allocation names a Service that does not have it: missing',
    [allocation(IP, 'x'), allocation(PORT, 'a')],
    [a],
    { ...NONE, missing: [{ key: IP, revision: 5, holder: a }] },
  ],
  [
    'two Services have it, and the younger one is named: the older one is a duplicate',
    [allocation(IP, 'b'), allocation(PORT, 'a')],
    [b, a],
    { ...NONE, duplicates: [{ key: IP, revision: 5, holder: a }] },
  ],
  [
    'two Services have it, and neither is named: the younger one is a duplicate',
    [allocation(PORT, 'a')],
    [b, a],
    {
      ...NONE,
      missing: [{ key: IP, revision: 0, holder: a }],
      duplicates: [{ key: IP, revision: 0, holder: b }],
    },
  ],
])('%s', (_, allocations, holders, expected) => {
  expect(auditAllocations({ allocations, holders, unreadable: NO_HOLDERS }, () => true)).toEqual(
    expected,
  )
})

test('a port outside of the ranges is reported as outside', () => {
  const allocations = [allocation(IP, 'a'), allocation(PORT, 'a')]
  const outside = [{ key: PORT, revision: 5, holder: a }]
  const audit = auditAllocations(
    { allocations, holders: [a], unreadable: NO_HOLDERS },
    (key) => key !== PORT,
  )
  expect(audit).toEqual({ ...NONE, outside })
})

test('allocations of an unreadable Service are neither leaked nor given to another Service', () => {
  const unreadable = new Set(['lost'])
  const allocations = [allocation(PORT, 'lost'), allocation(IP, 'lost'), allocation('/x', '')]
  expect(auditAllocations({ allocations, holders: [b], unreadable }, () => true)).toEqual({
    ...NONE,
    duplicates: [{ key: IP, revision: 5, holder: b }],
  })
})
