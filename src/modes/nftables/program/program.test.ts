import { expect, test } from 'vitest'
import type { EntryId, ForwardingEntry } from '../../../forwarding/entry.ts'
import type { PlacedElement } from '../../../kernel/nftables/rules/digest.ts'
import type { Digest, ObjectKey } from '../../mode.ts'
import { backend, entry, frontend, ip, settings } from '../../testing/mode-fixtures.ts'
import { NftablesProgram } from './program.ts'

const id = (name: string) => name as EntryId
const key = (name: string) => name as ObjectKey
const VIP = key('4/frontend/172.30.0.41:80/TCP')

function fresh(...entries: readonly ForwardingEntry[]): NftablesProgram {
  const program = new NftablesProgram(settings())
  for (const one of entries) program.replace(one.id, one)
  program.takeChanges()
  return program
}

/** A Service whose pool has so many backends. */
function service(name: string, backends: number, parts: Partial<ForwardingEntry> = {}) {
  const cluster = Array.from({ length: backends }, (_, n) => backend(`10.180.0.${n + 1}`))
  return entry({ id: id(name), pools: { cluster, local: [] }, ...parts })
}

function changesOf(program: NftablesProgram, one: ForwardingEntry): Record<string, boolean> {
  program.replace(one.id, one)
  const changes = [...program.takeChanges()]
  return Object.fromEntries(changes.map(([object, digest]) => [object, digest !== undefined]))
}

function elementsOf(program: NftablesProgram, object = VIP): readonly PlacedElement[] {
  const content = program.contentOf(object)
  return content?.kind === 'frontend' ? content.elements : []
}

const verdictsOf = (program: NftablesProgram) =>
  elementsOf(program).filter(({ element }) => !Buffer.isBuffer(element.data))

test('table, sets and chains stand before the first Service, in every family that is served', () => {
  const wanted = new NftablesProgram(settings({ families: [4] })).takeChanges()
  expect([...wanted.keys()].filter((one) => !one.startsWith('4/'))).toEqual([])
  for (const name of ['table/node-proxy', 'set/services', 'set/same-byte', 'chain/dispatch']) {
    expect(wanted.get(key(`4/${name}`))).toEqual(expect.any(Number))
  }
})

test('an entry of a family that is not served is nothing', () => {
  const program = new NftablesProgram(settings({ families: [6] }))
  program.takeChanges()
  program.replace(id('a'), service('a', 2))
  expect(program.takeChanges()).toEqual(new Map())
  program.replace(id('a'), undefined)
  expect(program.takeChanges()).toEqual(new Map())
})

test('changes are returned once; what stays as it was is none', () => {
  const program = fresh()
  expect(changesOf(program, service('a', 2))).toEqual({
    [VIP]: true,
    '4/address/172.30.0.41': true,
    '4/chain/choose-2-off-cluster': true,
  })
  expect(program.takeChanges().size).toBe(0)
  expect(changesOf(program, service('a', 2))).toEqual({})
})

test('a frontend belongs to its entry, a choice chain to none', () => {
  const program = fresh(service('a', 2, { affinity: { seconds: 60 } }))
  expect(program.ownersOf(VIP)).toEqual(['a'])
  expect(program.ownersOf(key('4/chain/choose-2-off-cluster'))).toEqual([])
  expect(program.ownersOf(key('4/set/services'))).toEqual([])
})

test('rules are counted', () => {
  const program = fresh(service('a', 2))
  const chain = (name: string) => program.describe(key(`4/chain/${name}`))
  const rules = (count: number) => ({
    kind: 'chain',
    family: 4,
    rules: { table: 'node-proxy', count },
  })
  expect(chain('choose-2-off-cluster')).toEqual(rules(2))
  expect(chain('translated')).toEqual(rules(9))
  expect(program.describe(VIP)).toEqual({ kind: 'frontend', family: 4 })
  program.replace(id('a'), undefined)
  expect(chain('choose-2-off-cluster')).toEqual(rules(0))
})

test('an endpoint replaced by another changes no verdict and no chain', () => {
  const program = fresh(service('a', 3))
  const before = verdictsOf(program)
  const cluster = ['10.180.0.1', '10.180.0.2', '10.180.0.9'].map((one) => backend(one))
  expect(changesOf(program, service('a', 3, { pools: { cluster, local: [] } }))).toEqual({
    [VIP]: true,
  })
  expect(verdictsOf(program)).toEqual(before)
  expect(before).toHaveLength(1)
})

test('with affinity it changes the set of backends as well, and no verdict', () => {
  const affinity = { seconds: 60 }
  const program = fresh(service('a', 3, { affinity }))
  const before = verdictsOf(program)
  const cluster = ['10.180.0.1', '10.180.0.2', '10.180.0.9'].map((one) => backend(one))
  const changed = changesOf(program, service('a', 3, { affinity, pools: { cluster, local: [] } }))
  expect(
    Object.keys(changed)
      .map((one) => one.replace(/-[\w-]{19}$/, '-#'))
      .toSorted(),
  ).toEqual([VIP, '4/set/backends-#'])
  expect(verdictsOf(program)).toEqual(before)
  expect(before).toHaveLength(2)
})

test('a pool that grows changes one verdict; the chain of the old number goes with its last user', () => {
  const elsewhere = [frontend({ ip: ip('172.30.0.42') })]
  const program = fresh(service('a', 3), service('b', 3, { frontends: elsewhere }))
  expect(changesOf(program, service('a', 4))).toEqual({
    [VIP]: true,
    '4/chain/choose-4-off-cluster': true,
  })
  expect(changesOf(program, service('b', 4, { frontends: elsewhere }))).toEqual({
    '4/frontend/172.30.0.42:80/TCP': true,
    '4/chain/choose-3-off-cluster': false,
  })
})

test('a choice chain that one entry leaves and another takes at the same time stays', () => {
  const elsewhere = [frontend({ ip: ip('172.30.0.42') })]
  const program = fresh(service('a', 3), service('b', 4, { frontends: elsewhere }))
  const digest = (name: string) => fresh(service('a', 3)).contentOf(key(name))
  program.replace(id('a'), service('a', 4))
  program.replace(id('b'), service('b', 3, { frontends: elsewhere }))
  expect(program.takeChanges().get(key('4/chain/choose-3-off-cluster'))).not.toBeUndefined()
  expect(program.contentOf(key('4/chain/choose-3-off-cluster'))).toEqual(
    digest('4/chain/choose-3-off-cluster'),
  )
})

test.each([
  ['b', 'a'],
  ['a', 'b'],
])('of two entries at one frontend the smaller id has it: %s before %s', (first, second) => {
  const sizes = { a: 1, b: 2 } as Readonly<Record<string, number>>
  const program = fresh(service(first, sizes[first]!), service(second, sizes[second]!))
  expect(program.ownersOf(VIP)).toEqual(['a'])
  expect(elementsOf(program)).toEqual(elementsOf(fresh(service('a', 1))))
  program.replace(id('a'), undefined)
  expect(program.ownersOf(VIP)).toEqual(['b'])
  expect(elementsOf(program)).toEqual(elementsOf(fresh(service('b', 2))))
  program.replace(id('b'), undefined)
  expect(program.contentOf(VIP)).toBeUndefined()
  expect(program.takeChanges().get(VIP)).toBeUndefined()
})

test('a rival that goes or changes leaves the frontend alone', () => {
  const program = fresh(service('a', 1), service('b', 2), service('c', 3))
  const of = (changes: Record<string, boolean>) => VIP in changes
  expect(of(changesOf(program, service('b', 4)))).toBe(false)
  program.replace(id('b'), undefined)
  expect(program.takeChanges().has(VIP)).toBe(false)
  program.replace(id('a'), undefined)
  expect(program.ownersOf(VIP)).toEqual(['c'])
  expect(elementsOf(program)).toEqual(elementsOf(fresh(service('c', 3))))
})

test('what is not wanted has neither content nor owner', () => {
  const program = new NftablesProgram(settings())
  const base = new Set(program.takeChanges().keys())
  program.replace(id('a'), service('a', 2, { affinity: { seconds: 60 } }))
  const wanted = new Map<ObjectKey, Digest | undefined>(program.takeChanges())
  program.replace(id('a'), undefined)
  for (const object of wanted.keys()) {
    expect([program.contentOf(object), program.ownersOf(object)]).toEqual([undefined, []])
    expect(base.has(object)).toBe(false)
  }
  expect(new Map([...program.takeChanges()].filter(([, digest]) => digest !== undefined))).toEqual(
    new Map(),
  )
})
