import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ipvsSettings } from '../../../test/support/modes/fake-ipvs-node.ts'
import { rivals, someChange } from '../../../test/support/modes/some-entry.ts'
import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import { digestCount, digestRules } from '../netfilter/chains/object.ts'
import { kindOf } from '../netfilter/object-key.ts'
import { backend, entry, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { markOf, markPattern } from './objects/short-circuit-mark.ts'
import { IpvsProgram } from './program.ts'
import { digestOf, specText } from './servers/server-spec.ts'

type Wanted = Map<ObjectKey, Digest>

/** Everything that a program wants, by adding up its changes. */
function wantedBy(program: IpvsProgram, known: Wanted = new Map()): Wanted {
  for (const [key, digest] of program.takeChanges()) {
    if (digest === undefined) known.delete(key)
    else known.set(key, digest)
  }
  return known
}

const id = (name: string) => name as EntryId
const key = (text: string) => text as ObjectKey
const serviceAt = (name: string, address: string, overrides: Partial<ForwardingEntry> = {}) =>
  named(name, { frontends: [frontend({ ip: ip(address) })], ...overrides })
const named = (name: string, overrides: Partial<ForwardingEntry>) =>
  entry({ id: id(name), ...overrides })
const external = { kind: 'externalIP', masquerade: 'always' } as const
const local = { ...external, pool: 'local', shortCircuit: true, masquerade: 'onNode' } as const
const nodePort = frontend({ kind: 'nodePort', ip: 'node', port: 30_080, masquerade: 'always' })

function textsOf(program: IpvsProgram, server: string): string | undefined {
  const spec = program.specOf(key(server))
  return spec && specText(spec)
}

test('the base objects stand before the first Service, in the families that are served', () => {
  const program = new IpvsProgram(ipvsSettings({ netfilter: settings({ families: [4] }) }))
  const wanted = wantedBy(program)
  expect([...wanted.keys()].filter((each) => /^6\/|[/-]6($|-)/.test(each))).toEqual([])
  expect(wanted.get(key('route/4'))).toBe(1)
  expect(wanted.get(key('set/NPVS-4-SERVICES'))).toBe(1)
  expect(wanted.get(key('4/mangle/PREROUTING>-j NPVS-ROUTE'))).toBe(digestCount(1))
  for (const [each, digest] of wanted) {
    const rules = program.rulesOf(each)
    if (rules !== undefined) expect(digest).toBe(digestRules(rules))
  }
})

test('the jumps of one built-in chain', () => {
  const program = new IpvsProgram(ipvsSettings())
  expect(program.jumpsIn({ family: 6, table: 'filter', chain: 'FORWARD' })).toEqual([
    '6/filter/FORWARD>-m conntrack --ctstate NEW -j NPVS-FILTER',
    '6/filter/FORWARD>-j NPVS-FORWARD',
  ])
  expect(program.jumpsIn({ family: 4, table: 'mangle', chain: 'FORWARD' })).toEqual([])
})

test('an entry of a family that is not served is nothing', () => {
  const program = new IpvsProgram(ipvsSettings({ netfilter: settings({ families: [6] }) }))
  wantedBy(program)
  program.replace(id('a'), serviceAt('a', '172.30.0.1'))
  program.replace(id('a'), undefined)
  expect(program.takeChanges()).toEqual(new Map())
})

test('changes are returned once, and an entry that goes takes all of it along', () => {
  const program = new IpvsProgram(ipvsSettings())
  wantedBy(program)
  program.replace(id('a'), serviceAt('a', '172.30.0.1'))
  const added = program.takeChanges()
  expect(added.size).toBe(3)
  expect(program.takeChanges()).toEqual(new Map())
  program.replace(id('a'), undefined)
  expect(program.takeChanges()).toEqual(new Map([...added.keys()].map((each) => [each, undefined])))
  for (const each of added.keys()) {
    expect(program.ownersOf(each)).toEqual([])
    expect(program.specOf(each)).toBeUndefined()
  }
})

test('one changed backend changes the virtual servers and no member', () => {
  const program = new IpvsProgram(ipvsSettings())
  const pools = (...ips: readonly string[]) => ({
    cluster: ips.map((one) => backend(one)),
    local: [],
  })
  const of = (...ips: readonly string[]) =>
    serviceAt('a', '172.30.0.1', {
      frontends: [frontend({ ip: ip('172.30.0.1') }), frontend({ ...external, ip: ip('5.6.7.8') })],
      pools: pools(...ips),
    })
  program.replace(id('a'), of('10.180.0.1'))
  const before = wantedBy(program)
  program.replace(id('a'), of('10.180.0.2'))
  const after = wantedBy(program, new Map(before))
  const changed = [...after].filter(([each, digest]) => before.get(each) !== digest)
  expect(changed.map(([each]) => each)).toEqual(['vs/4/tcp/172.30.0.1:80', 'vs/4/tcp/5.6.7.8:80'])
})

test('two Services at one address share its VIP, until both are gone', () => {
  const program = new IpvsProgram(ipvsSettings())
  const at = (name: string, port: number) =>
    named(name, { frontends: [frontend({ ip: ip('172.30.0.1'), port })] })
  program.replace(id('a'), at('a', 80))
  program.replace(id('b'), at('b', 443))
  const wanted = wantedBy(program)
  const vip = key('member/NPVS-4-VIPS/172.30.0.1')
  expect(program.ownersOf(vip)).toEqual(['a', 'b'])
  program.replace(id('a'), undefined)
  expect(wantedBy(program, wanted).has(vip)).toBe(true)
  expect(program.ownersOf(vip)).toEqual(['b'])
  program.replace(id('b'), undefined)
  expect(wantedBy(program, wanted).has(vip)).toBe(false)
  expect(program.ownersOf(vip)).toEqual([])
})

test('a named address of this node wins over a node port, and gives it back', () => {
  const server = 'vs/4/tcp/192.0.2.10:30080'
  const byAddress = named('z-named', {
    frontends: [frontend({ ...external, ip: ip('192.0.2.10'), port: 30_080 })],
    pools: { cluster: [backend('10.180.7.7')], local: [] },
    affinity: { seconds: 60 },
  })
  const byNodePort = named('a-node-port', { frontends: [nodePort] })
  for (const order of [
    [byAddress, byNodePort],
    [byNodePort, byAddress],
  ]) {
    const program = new IpvsProgram(ipvsSettings())
    for (const one of order) program.replace(one.id, one)
    const wanted = wantedBy(program)
    expect(program.ownersOf(key(server))).toEqual(['z-named'])
    expect(textsOf(program, server)).toBe('rr 60/32|10.180.7.7:8080*1')
    program.replace(byAddress.id, undefined)
    expect(program.ownersOf(key(server))).toEqual(['a-node-port'])
    const direct = new IpvsProgram(ipvsSettings())
    direct.replace(byNodePort.id, byNodePort)
    expect(wantedBy(program, wanted)).toEqual(wantedBy(direct))
  }
})

test('two Services whose marks collide have a virtual server each, in either order', () => {
  const [first, second] = rivals()
  const pattern = markPattern(settings())
  const mark = (one: EntryId, attempt: number) => `vs/4/mark/${markOf(one, attempt, pattern)}`
  const of = (name: EntryId, address: string, pod: string) =>
    serviceAt(name, address, {
      frontends: [frontend({ ...local, ip: ip(address) })],
      pools: { cluster: [backend(pod)], local: [] },
    })
  const a = of(first, '5.0.0.1', '10.180.0.1')
  const b = of(second, '5.0.0.2', '10.180.0.2')
  for (const order of [
    [a, b],
    [b, a],
  ]) {
    const program = new IpvsProgram(ipvsSettings())
    for (const one of order) program.replace(one.id, one)
    const wanted = wantedBy(program)
    expect(textsOf(program, mark(first, 0))).toBe('rr|10.180.0.1:8080*1')
    expect(textsOf(program, mark(second, 1))).toBe('rr|10.180.0.2:8080*1')
    const member = key('member/NPVS-4-SHORTCUT/5.0.0.2,tcp:80')
    expect(program.markOf(member)).toBe(markOf(second, 1, pattern))
    expect(wanted.get(member)).toBe(program.markOf(member))
    program.replace(first, undefined)
    expect(textsOf(program, mark(second, 0))).toBe('rr|10.180.0.2:8080*1')
    expect(wantedBy(program, wanted).has(key(mark(second, 1)))).toBe(false)
    const direct = new IpvsProgram(ipvsSettings())
    direct.replace(second, b)
    expect(wanted).toEqual(wantedBy(direct))
  }
})

test('every object says what it is', () => {
  const program = new IpvsProgram(ipvsSettings())
  const kindsOf = (text: string) => program.describe(key(text))
  expect(kindsOf('vs/6/tcp/[fd00::1]:80')).toEqual({ kind: 'virtual_server', family: 6 })
  expect(kindsOf('vs/4/mark/4261')).toEqual({ kind: 'virtual_server', family: 4 })
  expect(kindsOf('set/NPVS-6-VIPS')).toEqual({ kind: 'set', family: 6 })
  expect(kindsOf('member/NPVS-4-VIPS/1.2.3.4')).toEqual({ kind: 'set_member', family: 4 })
  expect(kindsOf('route/6')).toEqual({ kind: 'route', family: 6 })
  expect(kindsOf('relay/tcp/30080')).toEqual({ kind: 'relay', family: 4 })
  expect(kindsOf('4/nat/NPVS-MASQ')).toEqual({
    kind: 'chain',
    family: 4,
    rules: { table: 'nat', count: program.rulesOf(key('4/nat/NPVS-MASQ'))?.length },
  })
  expect(kindsOf('4/nat/OUTPUT>-j NPVS-MASQ').rules).toEqual({ table: 'nat', count: 1 })
})

test('what is wanted depends on the entries alone, and is what will be written', () => {
  const given = ipvsSettings({ netfilter: settings({ localhostNodePorts: true }) })
  fc.assert(
    fc.property(fc.array(someChange, { minLength: 2, maxLength: 40 }), (history) => {
      const program = new IpvsProgram(given)
      const wanted: Wanted = new Map()
      const entries = new Map<EntryId, ForwardingEntry>()
      for (const [index, { id: name, entry: one }] of history.entries()) {
        if (one === undefined) entries.delete(name)
        else entries.set(name, one)
        program.replace(name, one)
        if (index % 3 === 0) wantedBy(program, wanted)
      }
      wantedBy(program, wanted)
      const direct = new IpvsProgram(given)
      for (const [name, one] of [...entries].toReversed()) direct.replace(name, one)
      expect(wanted).toEqual(wantedBy(direct))
      for (const [each, digest] of wanted) {
        expect(program.ownersOf(each)).toEqual(direct.ownersOf(each))
        for (const owner of program.ownersOf(each)) expect(entries.has(owner)).toBe(true)
        const spec = program.specOf(each)
        if (kindOf(each) === 'vs') expect(spec && digestOf(specText(spec))).toBe(digest)
        if (each.includes('-SHORTCUT/')) expect(program.markOf(each)).toBe(digest)
      }
    }),
    { numRuns: 300 },
  )
})
