import { expect, test } from 'vitest'
import type { ForwardingEntry, Frontend } from '../../forwarding/entry.ts'
import type { ObjectKey } from '../mode.ts'
import { backend, cidr, entry, frontend, ip } from '../testing/mode-fixtures.ts'
import {
  type Arrival,
  arrivalAt,
  arrivalMembers,
  healthCheckMembers,
  type MemberPoint,
} from './arrival.ts'

const here = [backend('10.180.0.1', { local: true })]
const asleep = [backend('10.180.0.1', { local: true, weight: 0 })]
const SERVED: Arrival = { sourceRanges: undefined, unserved: undefined, isShortCircuited: false }

test.each<[string, Partial<Frontend>, Partial<ForwardingEntry>, Partial<Arrival>]>([
  ['a pool with a backend', {}, { pools: { cluster: here, local: [] } }, {}],
  ['an empty pool', {}, { pools: { cluster: [], local: here } }, { unserved: 'reject' }],
  ['weight 0 alone', {}, { pools: { cluster: asleep, local: [] } }, { unserved: 'reject' }],
  [
    'the answer of its own pool',
    { pool: 'local' },
    { pools: { cluster: here, local: [] }, whenEmpty: { cluster: 'reject', local: 'drop' } },
    { unserved: 'drop' },
  ],
  [
    'a short circuit',
    { pool: 'local', shortCircuit: true },
    { pools: { cluster: here, local: here } },
    { isShortCircuited: true },
  ],
  [
    'a short circuit beside an answer',
    { pool: 'local', shortCircuit: true },
    { pools: { cluster: here, local: [] }, whenEmpty: { cluster: 'reject', local: 'drop' } },
    { unserved: 'drop', isShortCircuited: true },
  ],
  [
    'a short circuit without a backend',
    { pool: 'local', shortCircuit: true },
    { pools: { cluster: asleep, local: [] } },
    { unserved: 'drop' },
  ],
  [
    'source ranges',
    { sourceRanges: [cidr('192.0.2.0/24')] },
    { pools: { cluster: here, local: [] } },
    { sourceRanges: [cidr('192.0.2.0/24')] },
  ],
])('%s', (_what, one, parts, expected) => {
  const whenEmpty = { cluster: 'reject', local: 'drop' } as const
  const given = entry({ whenEmpty, ...parts })
  expect(arrivalAt(given, frontend(one))).toEqual({ ...SERVED, ...expected })
})

const POINT: MemberPoint = { ip: ip('10.96.0.1'), protocol: 'TCP', port: 80 }
const SETS = { memberKey: (role: string, member: string) => `${role} ${member}` as ObjectKey }

test.each<[string, Partial<Arrival>, readonly string[]]>([
  ['served', {}, []],
  ['rejected', { unserved: 'reject' }, ['REJECT 10.96.0.1,tcp:80']],
  ['dropped', { unserved: 'drop' }, ['DROP 10.96.0.1,tcp:80']],
  ['short-circuited, of which each mode makes its own', { isShortCircuited: true }, []],
  ['for no source', { sourceRanges: [] }, ['RANGED 10.96.0.1,tcp:80']],
  [
    'for some sources',
    { sourceRanges: [cidr('192.0.2.0/24'), cidr('0.0.0.0/0')] },
    [
      'RANGED 10.96.0.1,tcp:80',
      'ALLOWED 10.96.0.1,tcp:80,192.0.2.0/24',
      'ALLOWED 10.96.0.1,tcp:80,0.0.0.0/1',
      'ALLOWED 10.96.0.1,tcp:80,128.0.0.0/1',
    ],
  ],
])('the members of a point that is %s', (_what, arrival, expected) => {
  const members = arrivalMembers({ ...SERVED, ...arrival }, { point: POINT, ownRoles: [] }, SETS)
  expect(members).toEqual(['SERVICES 10.96.0.1,tcp:80', ...expected])
})

test.each(['reject', 'drop'] as const)(
  'own sets have a point before it is set to %s',
  (unserved) => {
    const given = { point: POINT, ownRoles: ['SHORT-CIRCUIT'] }
    const members = arrivalMembers({ ...SERVED, unserved, sourceRanges: [] }, given, SETS)
    expect(members.map((member) => member.split(' ')[0])).toEqual([
      'SERVICES',
      'RANGED',
      'SHORT-CIRCUIT',
      unserved.toUpperCase(),
    ])
  },
)

test('health checks are admitted at the node addresses of the family', () => {
  const addresses = [ip('192.0.2.10'), ip('2001:db8::10')]
  expect(healthCheckMembers(entry({ healthCheckPort: 31_000 }), addresses, SETS)).toEqual([
    'ADMIT 192.0.2.10,tcp:31000',
  ])
  expect(healthCheckMembers(entry(), addresses, SETS)).toEqual([])
})
