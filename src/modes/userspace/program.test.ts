import fc from 'fast-check'
import { expect, test } from 'vitest'
import { redirected } from '../../../test/support/modes/fake-userspace-node.ts'
import { someChange } from '../../../test/support/modes/some-entry.ts'
import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import { digestCount, digestRules } from '../netfilter/chains/object.ts'
import { kindOf } from '../netfilter/object-key.ts'
import { backend, entry, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { UserspaceProgram } from './program.ts'
import { digestRoute } from './render.ts'

type Wanted = Map<ObjectKey, Digest>

const PORTS = new Map([
  [4, { pods: 41_001, others: 41_002 }],
  [6, { pods: 61_001, others: 61_002 }],
] as const)
const key = (text: string) => text as ObjectKey
const made = (given = redirected()) => new UserspaceProgram(given, PORTS)

/** Everything that a program wants, by adding up its changes. */
function wantedBy(program: UserspaceProgram, known: Wanted = new Map()): Wanted {
  for (const [each, digest] of program.takeChanges()) {
    if (digest === undefined) known.delete(each)
    else known.set(each, digest)
  }
  return known
}

function listenersOf(program: UserspaceProgram, name: string): readonly string[] | undefined {
  return program.routeOf(key(`entry/${name}`))?.listeners.map(({ ip: at, port }) => `${at} ${port}`)
}

test('the base objects stand before the first Service, in the families that are served', () => {
  const program = made(redirected({ netfilter: settings({ families: [4] }) }))
  const wanted = wantedBy(program)
  expect([...wanted.keys()].filter((each) => /^6\/|[/-]6($|-)/.test(each))).toEqual([])
  expect(wanted.get(key('route/4'))).toBe(1)
  expect(wanted.get(key('set/NPUS-4-SERVICES'))).toBe(1)
  expect(wanted.get(key('4/mangle/PREROUTING>-j NPUS-ROUTE'))).toBe(digestCount(1))
  for (const [each, digest] of wanted) {
    const rules = program.rulesOf(each)
    if (rules !== undefined) expect(digest).toBe(digestRules(rules))
  }
  const place = { family: 4, table: 'nat', chain: 'POSTROUTING' } as const
  expect(program.jumpsIn(place)).toEqual(['4/nat/POSTROUTING>-j NPUS-TAKEN'])
})

test('packets go to the ports of their side', () => {
  const program = made()
  expect(program.rulesOf(key('6/nat/NPUS-PODS'))?.[0]).toMatch(/:61001$/)
  expect(program.rulesOf(key('6/nat/NPUS-REDIRECT'))?.at(-1)).toMatch(/:61002$/)
})

test('an entry is a route and members, and takes all of it along', () => {
  const program = made()
  wantedBy(program)
  const one = entry()
  program.replace(one.id, one)
  const added = program.takeChanges()
  const route = program.routeOf(key(`entry/${one.id}`))
  expect([...added]).toEqual([
    [key('member/NPUS-4-SERVICES/172.30.0.41,tcp:80'), 1],
    [key(`entry/${one.id}`), route && digestRoute(route)],
  ])
  for (const each of added.keys()) expect(program.ownersOf(each)).toEqual([one.id])
  program.replace(one.id, undefined)
  expect(program.takeChanges()).toEqual(new Map([...added.keys()].map((each) => [each, undefined])))
  for (const each of added.keys()) expect(program.ownersOf(each)).toEqual([])
})

test('one changed backend changes the route and no member', () => {
  const program = made()
  const one = entry()
  program.replace(one.id, one)
  wantedBy(program)
  program.replace(one.id, { ...one, pools: { cluster: [backend('10.180.0.9')], local: [] } })
  const wanted = wantedBy(program, new Map())
  expect([...wanted.keys()].filter((each) => kindOf(each) !== 'member')).toEqual([
    `entry/${one.id}`,
  ])
  expect(wanted.get(key('member/NPUS-4-SERVICES/172.30.0.41,tcp:80')) ?? 1).toBe(1)
})

test('what is not served is nothing', () => {
  const program = made()
  wantedBy(program)
  const sctp = entry({ protocol: 'SCTP' })
  program.replace(sctp.id, sctp)
  program.replace(sctp.id, undefined)
  expect(program.takeChanges()).toEqual(new Map())
})

test('a named address of this node wins over a node port, and gives it back', () => {
  const named = entry({
    id: 'z-named' as EntryId,
    frontends: [frontend({ kind: 'externalIP', ip: ip('192.0.2.10'), port: 30_080 })],
  })
  const byNode = entry({
    id: 'a-node' as EntryId,
    frontends: [frontend(), frontend({ kind: 'nodePort', ip: 'node', port: 30_080 })],
  })
  for (const order of [
    [named, byNode],
    [byNode, named],
  ]) {
    const program = made()
    for (const one of order) program.replace(one.id, one)
    const wanted = wantedBy(program)
    expect(listenersOf(program, 'z-named')).toEqual(['192.0.2.10 30080'])
    expect(listenersOf(program, 'a-node')).toEqual(['172.30.0.41 80'])
    program.replace(named.id, undefined)
    expect(listenersOf(program, 'a-node')).toEqual(['172.30.0.41 80', '192.0.2.10 30080'])
    const direct = made()
    direct.replace(byNode.id, byNode)
    expect(wantedBy(program, wanted)).toEqual(wantedBy(direct))
  }
})

test('bound, nothing is in the kernel, and an address is of one Service', () => {
  const bindings = new Map([['shop/cart/TCP', [{ ip: ip('127.0.0.1'), port: 8080 }]]])
  const program = made({ listening: { kind: 'bound', bindings }, balancing: 'rr' })
  const [a, b] = ['shop/cart:a/TCP/4', 'shop/cart:b/TCP/4'].map((id) =>
    entry({ id: id as EntryId }),
  )
  for (const one of [b!, a!]) program.replace(one.id, one)
  expect([...wantedBy(program).keys()]).toEqual([`entry/${a?.id}`])
  expect(program.jumpsIn({ family: 4, table: 'mangle', chain: 'OUTPUT' })).toEqual([])
})

test('every object says what it is', () => {
  const program = made()
  const kindsOf = (text: string) => program.describe(key(text))
  expect(kindsOf('entry/a/b:c/TCP/6')).toEqual({ kind: 'forwarder_route', family: 6 })
  expect(kindsOf('set/NPUS-6-DROP')).toEqual({ kind: 'set', family: 6 })
  expect(kindsOf('member/NPUS-4-DROP/1.2.3.4,tcp:1')).toEqual({ kind: 'set_member', family: 4 })
  expect(kindsOf('route/6')).toEqual({ kind: 'route', family: 6 })
  expect(kindsOf('4/nat/NPUS-TAKEN').rules).toEqual({ table: 'nat', count: 1 })
  expect(kindsOf('4/nat/OUTPUT>-j NPUS-TAKEN').kind).toBe('jump')
})

test('what is wanted depends on the entries alone, and is what the forwarder gets', () => {
  const given = redirected({ netfilter: settings({ localhostNodePorts: true }) })
  fc.assert(
    fc.property(fc.array(someChange, { minLength: 2, maxLength: 40 }), (history) => {
      const program = made(given)
      const wanted: Wanted = new Map()
      const entries = new Map<EntryId, ForwardingEntry>()
      for (const [index, { id, entry: one }] of history.entries()) {
        if (one === undefined) entries.delete(id)
        else entries.set(id, one)
        program.replace(id, one)
        if (index % 3 === 0) wantedBy(program, wanted)
      }
      wantedBy(program, wanted)
      const direct = made(given)
      for (const [id, one] of [...entries].toReversed()) direct.replace(id, one)
      expect(wanted).toEqual(wantedBy(direct))
      const listeners = new Set<string>()
      for (const [each, digest] of wanted) {
        expect(program.ownersOf(each)).toEqual(direct.ownersOf(each))
        if (kindOf(each) !== 'entry') continue
        const route = program.routeOf(each)
        expect(route && digestRoute(route)).toBe(digest)
        for (const { ip: at, port } of route?.listeners ?? []) {
          const listener = `${route?.protocol} ${at} ${port}`
          expect(listeners.has(listener)).toBe(false)
          listeners.add(listener)
        }
      }
    }),
    { numRuns: 300 },
  )
})
