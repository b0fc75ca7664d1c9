import fc from 'fast-check'
import { expect, test } from 'vitest'
import { serviceAt } from '../../../test/support/modes/fake-node.ts'
import type { EntryId, ForwardingEntry, ServiceKey } from '../../forwarding/entry.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import { digestRules, objectOf } from '../netfilter/chains/object.ts'
import { kindOf, ofKind } from '../netfilter/object-key.ts'
import { backend, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { IptablesProgram } from './program.ts'

/** Everything that a program wants, by adding up its changes. */
function wantedBy(program: IptablesProgram, known = new Map<ObjectKey, Digest>()) {
  for (const [key, digest] of program.takeChanges()) {
    if (digest === undefined) known.delete(key)
    else known.set(key, digest)
  }
  return known
}

const id = (name: string) => name as EntryId

test('the base objects stand before the first Service, in every family that is served', () => {
  const wanted = wantedBy(new IptablesProgram(settings({ families: [4] })))
  expect([...wanted.keys()].filter((key) => key.startsWith('6/'))).toEqual([])
  expect(wanted.has('4/nat/PREROUTING>-j NPROXY-SERVICES' as ObjectKey)).toBe(true)
  expect(wanted.has('4/nat/NPROXY-VIPS' as ObjectKey)).toBe(true)
})

test('an entry of a family that is not served is nothing', () => {
  const program = new IptablesProgram(settings({ families: [6] }))
  wantedBy(program)
  program.replace(id('a'), serviceAt('a', '172.30.0.1'))
  expect(program.takeChanges()).toEqual(new Map())
  program.replace(id('a'), undefined)
  expect(program.takeChanges()).toEqual(new Map())
})

test('changes are returned once', () => {
  const program = new IptablesProgram(settings())
  program.replace(id('a'), serviceAt('a', '172.30.0.1'))
  expect(program.takeChanges().size).toBeGreaterThan(0)
  expect(program.takeChanges().size).toBe(0)
})

test('a chain belongs to its entry, a dispatch chain to none', () => {
  const program = new IptablesProgram(settings())
  program.replace(id('a'), serviceAt('a', '172.30.0.1', { affinity: { seconds: 60 } }))
  const owners = [...wantedBy(program).keys()].map((key) => [key, ...program.ownersOf(key)])
  const mine = owners.filter(([, owner]) => owner === 'a').map(([key]) => key?.split('-')[0])
  expect(mine).toEqual(['set/NPROXY', 'set/NPROXY', '4/nat/NPROXY'])
  expect(program.ownersOf('4/nat/NPROXY-VIPS' as ObjectKey)).toEqual([])
})

test('a set that two entries share belongs to both, and stays until neither wants it', () => {
  const program = new IptablesProgram(settings())
  const service = 'ns/a' as ServiceKey
  const sticky = { service, affinity: { seconds: 60, isShared: true } } as const
  program.replace(id('a'), serviceAt('a', '172.30.0.1', sticky))
  program.replace(id('b'), serviceAt('b', '172.30.0.2', sticky))
  const wanted = wantedBy(program)
  const sets = ofKind([...wanted.keys()], 'set')
  expect(sets).toHaveLength(2)
  expect(sets.map((key) => program.ownersOf(key))).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ])
  program.replace(id('a'), undefined)
  expect(ofKind([...wantedBy(program, wanted).keys()], 'set')).toEqual(sets)
  expect(sets.map((key) => program.setTypeOf(key)?.type)).toEqual(['hash:ip', 'hash:ip'])
  program.replace(id('b'), undefined)
  expect(ofKind([...wantedBy(program, wanted).keys()], 'set')).toEqual([])
})

test('what is not wanted has neither rules nor options nor an owner', () => {
  const program = new IptablesProgram(settings())
  program.replace(id('a'), serviceAt('a', '172.30.0.1', { affinity: { seconds: 60 } }))
  const mine = [...wantedBy(program).keys()].filter((key) => program.ownersOf(key).length > 0)
  program.replace(id('a'), undefined)
  for (const key of mine) {
    expect(program.ownersOf(key)).toEqual([])
    expect(program.setTypeOf(key)).toBeUndefined()
    expect(program.rulesOf(key)).toBeUndefined()
    expect(program.describe(key).rules?.count ?? 0).toBe(0)
  }
})

test('every object has a kind, and a chain or jump its table and rules, wanted or not', () => {
  const program = new IptablesProgram(settings())
  program.replace(id('a'), serviceAt('a', '172.30.0.1', { affinity: { seconds: 60 } }))
  const describe = (key: string) => program.describe(key as ObjectKey)
  const [set = ''] = ofKind([...wantedBy(program).keys()], 'set')
  expect(describe(set)).toEqual({ kind: 'set', family: undefined })
  expect(describe('6/filter/INPUT>-j NPROXY-FILTER')).toEqual({
    kind: 'jump',
    family: 6,
    rules: { table: 'filter', count: 1 },
  })
  const services = describe('4/nat/NPROXY-SERVICES')
  expect(services).toMatchObject({ kind: 'chain', family: 4, rules: { table: 'nat' } })
  expect(services.rules?.count).toBeGreaterThan(1)
  expect(describe('4/nat/NPROXY-C-GONE').rules).toEqual({ table: 'nat', count: 0 })
})

test('a claim that moves is served by its new owner, whichever change comes first', () => {
  const node = (name: string, ...ips: readonly string[]): ForwardingEntry =>
    serviceAt(name, '172.30.0.9', { frontends: ips.map((one) => frontend({ ip: ip(one) })) })
  for (const order of [
    ['a', 'b'],
    ['b', 'a'],
  ]) {
    const program = new IptablesProgram(settings())
    program.replace(id('a'), node('a', '172.30.0.1', '172.30.0.5'))
    program.replace(id('b'), node('b', '172.30.0.2'))
    const after = new Map([
      ['a', node('a', '172.30.0.1')],
      ['b', node('b', '172.30.0.2', '172.30.0.5')],
    ])
    for (const name of order) program.replace(id(name), after.get(name))
    const direct = new IptablesProgram(settings())
    for (const [name, one] of after) direct.replace(id(name), one)
    expect(wantedBy(program)).toEqual(wantedBy(direct))
  }
})

/** By itself, or with other entries of its Service. */
const STICKY = [{ seconds: 60 }, { seconds: 60, isShared: true }] as const

const change = fc.record({
  name: fc.nat(90),
  address: fc.nat(400),
  backends: fc.nat(3),
  isGone: fc.boolean(),
  isNodePort: fc.boolean(),
  isSticky: fc.boolean(),
})

function entryOf({
  name,
  address,
  backends,
  isNodePort,
  isSticky,
}: Omit<typeof change extends fc.Arbitrary<infer T> ? T : never, 'isGone'>) {
  const vip = frontend({ ip: ip(`172.30.${address >> 8}.${address & 255}`), port: 80 + name })
  const nodePort = frontend({
    kind: 'nodePort',
    ip: 'node',
    port: 30_000 + name,
    masquerade: 'always',
  })
  const cluster = Array.from({ length: backends }, (_, n) => backend(`10.180.0.${n + 1}`))
  return serviceAt(`s${name}`, '172.30.0.1', {
    frontends: isNodePort ? [vip, nodePort] : [vip],
    pools: { cluster, local: [] },
    service: `ns/s${name % 5}` as ServiceKey,
    affinity: isSticky ? STICKY[name % 2] : undefined,
  })
}

test('what is wanted depends on the entries alone, and the rules have the digests that were returned', () => {
  fc.assert(
    fc.property(fc.array(change, { minLength: 40, maxLength: 250 }), (history) => {
      const program = new IptablesProgram(settings())
      const wanted = new Map<ObjectKey, Digest>()
      const entries = new Map<EntryId, ForwardingEntry>()
      for (const [step, { isGone, ...rest }] of history.entries()) {
        const one = entryOf(rest)
        if (isGone) entries.delete(one.id)
        else entries.set(one.id, one)
        program.replace(one.id, isGone ? undefined : one)
        if (step % 5 === 0) wantedBy(program, wanted)
      }
      wantedBy(program, wanted)
      const direct = new IptablesProgram(settings())
      for (const [name, one] of [...entries].reverse()) direct.replace(name, one)
      expect(wanted).toEqual(wantedBy(direct))
      for (const [key, digest] of wanted) {
        if (kindOf(key) === 'set' || objectOf(key).kind !== 'chain') continue
        const rules = program.rulesOf(key) ?? []
        expect([digestRules(rules), rules.length]).toEqual([
          digest,
          program.describe(key).rules?.count,
        ])
      }
    }),
    { numRuns: 60 },
  )
})
