import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EntryId, ForwardingEntry, ServiceKey } from '../../forwarding/entry.ts'
import type { ObjectKey } from '../mode.ts'
import { restoreLines } from '../netfilter/chains/apply.ts'
import { plan } from '../netfilter/chains/plan.ts'
import { kindOf, ofKind } from '../netfilter/object-key.ts'
import { AFFINITIES, backend, cidr, frontend, ip, settings } from '../testing/mode-fixtures.ts'

import { OWNED_CHAINS, rankOf } from './names.ts'
import { IptablesProgram } from './program.ts'

/** What an API object may try to smuggle into restore text, a set name or a log line. */
const HOSTILE = [
  '\nCOMMIT\n*filter\n-A INPUT -j ACCEPT\n',
  '"; rm -rf / #',
  '$(id)',
  '%s%n',
  '\u0000\u001b[2J',
  '-j ACCEPT',
  '../../etc',
  'ü‮',
  'a'.repeat(5_000),
]
const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...HOSTILE))

const hostileEntry = fc
  .record({
    id: text,
    service: text,
    portName: text,
    scheduler: fc.option(text, { nil: undefined }),
    protocol: fc.constantFrom('TCP' as const, 'UDP' as const, 'SCTP' as const),
    isV6: fc.boolean(),
    port: fc.integer({ min: 1, max: 65_535 }),
    backends: fc.nat(3),
    isLocal: fc.boolean(),
    affinity: fc.constantFrom(...AFFINITIES),
    ranges: fc.option(fc.nat(2), { nil: undefined }),
  })
  .map(({ id, service, portName, isV6, port, backends, isLocal, ranges, ...rest }) => {
    const pod = (n: number) => backend(isV6 ? `fd00:10::${n + 1}` : `10.180.0.${n + 1}`)
    const cluster = Array.from({ length: backends }, (_, n) => pod(n))
    const sourceRanges = ['0.0.0.0/0', '192.0.2.0/24'].slice(0, ranges).map(cidr)
    return {
      ...rest,
      id: id as EntryId,
      service: service as ServiceKey,
      portName,
      family: isV6 ? 6 : 4,
      frontends: [
        frontend({ ip: ip(isV6 ? 'fd00:172::1' : '172.30.0.1'), port }),
        frontend({
          kind: 'loadBalancerIP',
          ip: ip(isV6 ? '2001:db8::1' : '192.0.2.1'),
          port,
          pool: isLocal ? 'local' : 'cluster',
          shortCircuit: isLocal,
          masquerade: isLocal ? 'onNode' : 'always',
          sourceRanges: ranges === undefined || isV6 ? undefined : sourceRanges,
        }),
      ],
      pools: { cluster, local: cluster.slice(0, 1) },
      whenEmpty: { cluster: 'reject', local: 'drop' },
      draining: [],
    } satisfies ForwardingEntry
  })

/** Lines of restore text, in every form that we write. */
const LINE =
  /^(?:\*(?:nat|filter)|COMMIT|:NPROXY-[\w-]{1,21} - \[0:0\]|-[XD] NPROXY-[\w-]{1,21}|-A NPROXY-[\w-]{1,21} [\w ./:,!["\]+-]+|-[ID] [A-Z]+ (?:1 )?[\w ,-]+)$/
const SET = /^set\/NPROXY-A[46]-[\w-]{19}$/

test('whatever an entry holds, only words of ours reach the kernel', () => {
  fc.assert(
    fc.property(fc.array(hostileEntry, { maxLength: 6 }), (entries) => {
      const program = new IptablesProgram(settings())
      for (const one of entries) program.replace(one.id, one)
      const changes = [...program.takeChanges()]
      const set = changes.flatMap(([key, digest]) => (digest === undefined ? [] : [key]))
      const unset = changes.flatMap(([key, digest]) => (digest === undefined ? [key] : []))
      const contents = { rulesOf: (key: ObjectKey) => program.rulesOf(key), countOf: () => 0 }
      const rules = (keys: readonly ObjectKey[]) => keys.filter((key) => kindOf(key) !== 'set')
      const change = { set: rules(set), unset: rules(unset) }
      for (const key of ofKind(set, 'set')) {
        expect(key).toMatch(SET)
        expect(program.setTypeOf(key)).toMatchObject({ type: 'hash:ip', timeout: 0 })
      }
      for (const commit of plan(change, { ...OWNED_CHAINS, rankOf, chainsPerCommit: 500 })) {
        for (const line of restoreLines(commit, contents)) expect(line.text).toMatch(LINE)
      }
    }),
    { numRuns: 400 },
  )
})

test('entries with different names never share a chain or a set', () => {
  fc.assert(
    fc.property(fc.uniqueArray(text, { minLength: 2, maxLength: 5 }), (names) => {
      const program = new IptablesProgram(settings())
      const sticky = { affinity: { seconds: 60 } }
      const owners = new Map<ObjectKey, string>()
      for (const [n, name] of names.entries()) {
        const one = {
          ...base,
          ...sticky,
          id: name as EntryId,
          frontends: [frontend({ port: n + 1 })],
        }
        program.replace(one.id, one)
      }
      for (const key of program.takeChanges().keys()) {
        for (const owner of program.ownersOf(key)) owners.set(key, owner)
      }
      expect(owners.size).toBe(names.length * 3)
    }),
    { numRuns: 200 },
  )
})

const base: ForwardingEntry = {
  id: '' as EntryId,
  service: 'a/b' as ServiceKey,
  portName: '',
  protocol: 'TCP',
  family: 4,
  frontends: [],
  pools: { cluster: [backend('10.180.0.1'), backend('10.180.0.2')], local: [] },
  whenEmpty: { cluster: 'reject', local: 'drop' },
  draining: [],
  affinity: undefined,
  scheduler: undefined,
}
