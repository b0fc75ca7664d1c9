import { expect, test } from 'vitest'
import type { ObjectKey } from '../../mode.ts'
import { blame } from './apply.ts'
import type { Commit } from './plan.ts'

const KEYS = ['NPROXY-A', 'NPROXY-B', 'NPROXY-BB'].map((chain) => `4/nat/${chain}` as ObjectKey)
const commit: Commit = { family: 4, table: 'nat', set: KEYS, unset: [], stubs: [] }
const rules = new Map([
  [KEYS[0], ['-j RETURN']],
  [KEYS[1], ['-j RETURN', '-g NPROXY-GONE']],
])
const contents = { rulesOf: (key: ObjectKey) => rules.get(key), countOf: () => 0 }

/** Messages of iptables 1.8.9, captured from both variants, and the objects at fault. */
test.each([
  [
    'nft, a rule',
    'iptables-nft-restore v1.8.9 (nf_tables):; line 5: RULE_APPEND failed (Invalid argument): rule in chain NPROXY-A',
    5,
    { faulty: ['NPROXY-A'], missing: undefined },
  ],
  [
    'nft, two rules, the last name perhaps cut',
    'line 5: RULE_APPEND failed (Invalid argument): rule in chain NPROXY-A; line 6: RULE_APPEND failed (Invalid argument): rule in chain NPROXY-B',
    5,
    { faulty: ['NPROXY-A'], missing: undefined },
  ],
  [
    'nft, a chain in use',
    'line 5: CHAIN_DEL failed (Device or resource busy): chain NPROXY-BB',
    5,
    { faulty: ['NPROXY-BB'], missing: undefined },
  ],
  [
    'nft, a missing chain',
    "iptables-nft-restore v1.8.9 (nf_tables): Chain 'NPROXY-GONE' does not exist; Error occurred at line: 8",
    8,
    { faulty: [], missing: 'NPROXY-GONE' },
  ],
  [
    'legacy, a missing chain',
    "iptables-restore v1.8.9 (legacy): goto 'NPROXY-GONE' is not a chain; Error occurred at line: 7",
    7,
    { faulty: [], missing: 'NPROXY-GONE' },
  ],
  [
    'legacy, a missing target',
    "iptables-restore v1.8.9 (legacy): Couldn't load target `NPROXY-GONE':No such file or directory",
    7,
    { faulty: [], missing: 'NPROXY-GONE' },
  ],
  [
    'a line',
    "host/network `1.2.3.4.5' not found; Error occurred at line: 6",
    6,
    { faulty: ['NPROXY-B'], missing: undefined },
  ],
  ['the COMMIT', 'iptables-restore: line 8 failed', 8, { faulty: [], missing: undefined }],
  ['nothing at all', 'exit status 1', undefined, { faulty: [], missing: undefined }],
] as const)('%s', (_, message, line, expected) => {
  const failure = { ok: false, kind: 'refused', message, commits: 0, pid: 1 } as const
  const found = blame(commit, line === undefined ? failure : { ...failure, line }, {
    contents,
    prefix: 'NPROXY-',
    done: [],
  })
  expect(found).toEqual({
    faulty: expected.faulty.map((chain) => `4/nat/${chain}`),
    missing: expected.missing && `4/nat/${expected.missing}`,
  })
})

test('lines of commits that took effect are counted', () => {
  const message = 'iptables-restore: line 14 failed'
  const failure = { ok: false, kind: 'refused', message, line: 14, commits: 1, pid: 1 } as const
  expect(blame(commit, failure, { contents, prefix: 'NPROXY-', done: [commit] }).faulty).toEqual([
    '4/nat/NPROXY-B',
  ])
})

test('a commit of one object needs no words', () => {
  const one = { ...commit, set: KEYS.slice(0, 1) }
  const failure = { ok: false, kind: 'refused', message: '', commits: 0, pid: 1 } as const
  expect(blame(one, failure, { contents, prefix: 'NPROXY-', done: [] }).faulty).toEqual([
    '4/nat/NPROXY-A',
  ])
})

test('chains with the prefix of another mode are not ours', () => {
  const message = 'CHAIN_DEL failed (Device or resource busy): chain NPROXY-A'
  const failure = { ok: false, kind: 'refused', message, commits: 0, pid: 1 } as const
  expect(blame(commit, failure, { contents, prefix: 'NPVS-', done: [] }).faulty).toEqual([])
  const missing = { ...failure, message: "Chain 'NPVS-GONE' does not exist" }
  const found = blame(commit, missing, { contents, prefix: 'NPVS-', done: [] })
  expect(found.missing).toBe('4/nat/NPVS-GONE')
})
