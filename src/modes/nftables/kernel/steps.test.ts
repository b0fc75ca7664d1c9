import { expect, test } from 'vitest'
import type { EntryId, ForwardingEntry } from '../../../forwarding/entry.ts'
import { FakeNamespace } from '../../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../../kernel/nftables/testing/fake-nftables.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import type { Change, ObjectKey } from '../../mode.ts'
import { backend, entry, frontend, ip, settings } from '../../testing/mode-fixtures.ts'
import { clientNames, SET, stickyNames } from '../keys/names.ts'
import { frontendKey, keyOf } from '../keys/object-key.ts'
import { createManagedState } from './managed-state.ts'
import { type PresentElements, stepsOf } from './steps.ts'

const STICKY = entry({
  id: 'shop/cart:http/TCP/4' as EntryId,
  frontends: [frontend(), frontend({ kind: 'nodePort', ip: 'node', port: 30_080 })],
  pools: { cluster: [backend('10.180.0.1')], local: [] },
  affinity: { seconds: 60 },
})
const names = { ...clientNames(STICKY.id), ...stickyNames(STICKY.id) }
const backends = keyOf(4, 'set', names.backends('cluster'))
const remember = keyOf(4, 'chain', names.remember)
const atAddress = frontendKey(4, { ip: ip('172.30.0.41'), port: 80, protocol: 'TCP' })
const atNode = frontendKey(4, { ip: 'node', port: 30_080, protocol: 'TCP' })
const tableKey = keyOf(4, 'table', 'node-proxy')

const NOTHING: PresentElements = {
  ofFrontend: () => [],
  ofSet: () => [],
  staleClientsOf: () => [],
}

function stateWith(...entries: readonly ForwardingEntry[]) {
  const nftables = new FakeNftables(new FakeNamespace(new FakeClock()))
  const state = createManagedState(settings(), { nftables })
  for (const one of entries) state.program.replace(one.id, one)
  return state
}

function shown(
  state: ReturnType<typeof stateWith>,
  change: Partial<Change>,
  present: Partial<PresentElements> = {},
) {
  const whole = { set: change.set ?? [], unset: change.unset ?? [] }
  return [...stepsOf(whole, 4, state, { ...NOTHING, ...present })].flatMap(({ commands }) =>
    commands.map((command) => {
      if ('set' in command)
        return `${command.do} ${command.set.replace(names.remember.slice(9), '#')}`
      if ('chain' in command)
        return `${command.do} ${command.chain.replace(names.remember.slice(9), '#')}`
      return command.do
    }),
  )
}

test('sets come before chains, chains before rules, and frontends behind all that they lead to', () => {
  const set: ObjectKey[] = [atNode, atAddress, remember, backends, tableKey]
  expect(shown(stateWith(STICKY), { set })).toEqual([
    'addTable',
    'addSet backends-#',
    'addChain remember-#',
    'flushChain remember-#',
    'addRule remember-#',
    'addElements backends-#',
    'addElements node-ports',
    'addElements node-port-endpoints',
    'addElements remembered-node-ports',
    'addElements services',
    'addElements endpoints',
    'addElements remembered',
  ])
})

test('what leaves goes behind what leads to it; what is not there is left', () => {
  const state = stateWith()
  const unset: ObjectKey[] = [backends, remember, atAddress]
  expect(shown(state, { unset })).toEqual([])
  for (const key of unset) state.record.set(key, 'unread')
  const ofFrontend = () => [{ set: SET.services, element: { key: Buffer.alloc(12) } }]
  expect(shown(state, { unset }, { ofFrontend })).toEqual([
    'deleteElements services',
    'flushChain remember-#',
    'deleteChain remember-#',
    'deleteSet backends-#',
  ])
})

test('with the table go its chains and sets', () => {
  const state = stateWith()
  const unset: ObjectKey[] = [backends, remember, tableKey]
  for (const key of unset) state.record.set(key, 'unread')
  expect(shown(state, { unset })).toEqual(['deleteTable'])
})

test('a set that is as it should be is not added again, one that is not known is', () => {
  const state = stateWith(STICKY)
  state.record.set(backends, 'fixed')
  const change = { set: [backends] }
  expect(shown(state, change)).toEqual(['addElements backends-#'])
  state.record.set(backends, 'unread')
  expect(shown(state, change)).toEqual(['addSet backends-#', 'addElements backends-#'])
})

test('clients of a backend that left are deleted, those that soon go by themselves first renewed', () => {
  const state = stateWith(STICKY)
  state.record.set(backends, 'fixed')
  const ofSet = () => [
    {
      set: names.backends('cluster'),
      element: { key: Buffer.from([10, 180, 0, 1, 31, 144, 0, 0]) },
    },
  ]
  const client = (expires: number) => ({
    set: names.clients('cluster'),
    element: { key: Buffer.alloc(4), timeout: 60_000, expires },
  })
  const change = { set: [backends] }
  expect(shown(state, change, { ofSet, staleClientsOf: () => [client(60_000)] })).toEqual([
    'deleteElements affinity-#',
  ])
  expect(shown(state, change, { ofSet, staleClientsOf: () => [client(9_000)] })).toEqual([
    'addElements affinity-#',
    'deleteElements affinity-#',
  ])
})

test('the frontends of an entry are one group, others are of another', () => {
  const other = entry({ id: 'shop/z' as EntryId, frontends: [frontend({ port: 81 })] })
  const third = frontendKey(4, { ip: ip('172.30.0.41'), port: 81, protocol: 'TCP' })
  const set = [atAddress, third, atNode]
  const steps = [...stepsOf({ set, unset: [] }, 4, stateWith(STICKY, other), NOTHING)]
  expect(steps.map(({ key, group }) => [key, group])).toEqual([
    ...[atAddress, atNode].map((key) => [key, STICKY.id]),
    [third, other.id],
  ])
})

test('objects of the other family are not touched', () => {
  const six = keyOf(6, 'chain', 'dispatch')
  expect(shown(stateWith(), { set: [six], unset: [six] })).toEqual([])
})
