import { expect, test } from 'vitest'
import { type Json, type JsonObject, valueAt } from '../../lib/json.ts'
import { POD } from '../testing/test-api.ts'
import { type Applied, applyObject } from './apply-object.ts'
import { membersOf, pathText } from './field-set.ts'
import type { Owner, Writer } from './owner.ts'
import { structureOf } from './structure.ts'

interface State {
  readonly object: JsonObject
  readonly owners: readonly Owner[]
}

const EMPTY: State = { object: { metadata: {}, spec: {} }, owners: [] }

function writer(name: string): Writer {
  return { name, operation: 'Apply', subresource: '', apiVersion: 'v1', time: '' }
}

function attempt(state: State, name: string, applied: JsonObject, force = false): Applied {
  const structure = structureOf('core.v1.Service')
  const { object: live, owners } = state
  return applyObject({ structure, live, applied, owners, writer: writer(name), force })
}

function apply(state: State, name: string, applied: JsonObject, force = false): State {
  const result = attempt(state, name, applied, force)
  if ('conflicts' in result) throw new Error(JSON.stringify(result.conflicts))
  return result
}

function conflicts(result: Applied): readonly string[] {
  if (!('conflicts' in result)) return []
  return result.conflicts.map(({ owner, path }) => `${owner.name} ${pathText(path)}`)
}

/** What each owner has. */
function owned(state: State): JsonObject {
  const pairs = state.owners.map(
    ({ name, fields }) => [name, [...membersOf(fields)].map(pathText)] as const,
  )
  return Object.fromEntries(pairs)
}

const labels = (map: Record<string, string>): JsonObject => ({ metadata: { labels: map } })
const spec = (fields: JsonObject): JsonObject => ({ spec: fields })
const ports = (...list: JsonObject[]): JsonObject => spec({ ports: list })
const portsOf = (state: State): Json | undefined => valueAt(state.object, 'spec', 'ports')

test('the first applier of a field owns it, and no other field', () => {
  const state = apply(EMPTY, 'a', { ...labels({ x: '1' }), ...spec({ type: 'NodePort' }) })
  expect(state.object).toEqual({ metadata: { labels: { x: '1' } }, spec: { type: 'NodePort' } })
  expect(owned(state)).toEqual({ a: ['.metadata.labels.x', '.spec.type'] })
})

test('an owner changes its fields and drops those that it leaves out', () => {
  const state = apply(EMPTY, 'a', labels({ x: '1', y: '1' }))
  expect(apply(state, 'a', labels({ x: '2' })).object).toEqual({
    metadata: { labels: { x: '2' } },
    spec: {},
  })
  const none = apply(state, 'a', {})
  expect([none.object, none.owners]).toEqual([EMPTY.object, []])
})

test('the same value is shared, and stays while one owner is left', () => {
  const both = apply(apply(EMPTY, 'a', labels({ x: '1' })), 'b', labels({ x: '1' }))
  expect(owned(both)).toEqual({ a: ['.metadata.labels.x'], b: ['.metadata.labels.x'] })
  const one = apply(both, 'a', {})
  expect([one.object['metadata'], owned(one)]).toEqual([
    { labels: { x: '1' } },
    { b: ['.metadata.labels.x'] },
  ])
  expect(apply(one, 'b', {}).object['metadata']).toEqual({})
})

test('another value is a conflict, and force takes the field', () => {
  const first = apply(EMPTY, 'a', labels({ x: '1', y: '1' }))
  expect(conflicts(attempt(first, 'b', labels({ x: '2', z: '2' })))).toEqual([
    'a .metadata.labels.x',
  ])
  const forced = apply(first, 'b', labels({ x: '2', z: '2' }), true)
  expect(forced.object['metadata']).toEqual({ labels: { x: '2', y: '1', z: '2' } })
  expect(owned(forced)).toEqual({
    a: ['.metadata.labels.y'],
    b: ['.metadata.labels.x', '.metadata.labels.z'],
  })
})

test('a field without an owner can be applied over, and stays when other owners drop theirs', () => {
  const live = { ...EMPTY, object: { metadata: { labels: { old: '1' } }, spec: { type: 'x' } } }
  const state = apply(live, 'a', { ...labels({ mine: '1' }), ...spec({ type: 'NodePort' }) })
  expect(apply(state, 'a', {}).object).toEqual({ metadata: { labels: { old: '1' } }, spec: {} })
})

test('ports are identified by number and protocol, which is TCP if absent', () => {
  const first = apply(
    EMPTY,
    'a',
    ports({ port: 53, name: 'tcp' }, { port: 53, protocol: 'UDP', name: 'udp' }),
  )
  const state = apply(first, 'b', ports({ port: 53, protocol: 'TCP', targetPort: 5353 }))
  expect(portsOf(state)).toEqual([
    { port: 53, name: 'tcp', protocol: 'TCP', targetPort: 5353 },
    { port: 53, protocol: 'UDP', name: 'udp' },
  ])
  expect(conflicts(attempt(state, 'b', ports({ port: 53, protocol: 'UDP', name: 'x' })))).toEqual([
    'a .spec.ports[port=53,protocol="UDP"].name',
  ])
})

test('an element is removed with its fields that have no owner, and keeps its keys while it has owners', () => {
  const first = apply(EMPTY, 'a', ports({ port: 80, name: 'web' }, { port: 81, name: 'x' }))
  const filled = first.object['spec'] as { ports: JsonObject[] }
  for (const port of filled.ports) port['targetPort'] = 1
  const shared = apply(first, 'b', ports({ port: 80, nodePort: 30_080 }))
  expect(portsOf(apply(shared, 'a', ports({ port: 82, name: 'y' })))).toEqual([
    { port: 80, targetPort: 1, nodePort: 30_080 },
    { port: 82, name: 'y' },
  ])
  expect(portsOf(apply(shared, 'a', {}))).toEqual([{ port: 80, targetPort: 1, nodePort: 30_080 }])
})

test('an element keeps its keys also when its remaining owners own none of them', () => {
  const first = apply(EMPTY, 'a', ports({ port: 80, name: 'web' }))
  const fields = { 'f:spec': { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { 'f:name': {} } } } }
  const updater: Owner = { ...writer('b'), operation: 'Update', fields }
  const state = { ...first, owners: [...first.owners, updater] }
  expect(portsOf(apply(state, 'a', {}))).toEqual([{ port: 80, name: 'web' }])
})

test('applied elements come in their order, other elements keep their positions', () => {
  const first = apply(EMPTY, 'a', ports({ port: 1 }, { port: 2 }, { port: 3 }))
  const state = apply(first, 'b', ports({ port: 3 }, { port: 9 }, { port: 1 }))
  expect(portsOf(state)).toEqual([{ port: 3 }, { port: 2 }, { port: 9 }, { port: 1 }])
  expect(apply(state, 'b', ports({ port: 3 }, { port: 9 }, { port: 1 }))).toEqual(state)
})

test('finalizers are a set', () => {
  const finalizers = (...list: string[]): JsonObject => ({ metadata: { finalizers: list } })
  const both = apply(apply(EMPTY, 'a', finalizers('x', 'y')), 'b', finalizers('y', 'z'))
  expect(both.object['metadata']).toEqual({ finalizers: ['x', 'y', 'z'] })
  expect(apply(both, 'a', {}).object['metadata']).toEqual({ finalizers: ['y', 'z'] })
})

test.each([
  ['selector', { app: 'a' }, { tier: 'b' }],
  ['externalIPs', ['198.51.100.1'], ['198.51.100.2']],
])('%s is atomic', (field, first, second) => {
  const state = apply(EMPTY, 'a', spec({ [field]: first }))
  expect(conflicts(attempt(state, 'b', spec({ [field]: second })))).toEqual([`a .spec.${field}`])
  expect(apply(state, 'b', spec({ [field]: second }), true).object['spec']).toEqual({
    [field]: second,
  })
})

test('a struct goes with what the server filled in', () => {
  const applied = spec({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: {} } })
  const state = apply(EMPTY, 'a', applied)
  const config = valueAt(state.object, 'spec', 'sessionAffinityConfig', 'clientIP') as JsonObject
  config['timeoutSeconds'] = 10_800
  expect(apply(state, 'a', {}).object['spec']).toEqual({})
})

test('nested lists of a pod are merged by their keys', () => {
  const structure = structureOf('core.v1.Pod')
  const container = { name: 'main', env: [{ name: 'A', value: '1' }] }
  const result = applyObject({
    structure,
    live: { metadata: {}, spec: POD },
    applied: { spec: { containers: [container] } },
    owners: [],
    writer: writer('a'),
    force: false,
  })
  if ('conflicts' in result) throw new Error('a conflict')
  expect(result.object['spec']).toEqual({ containers: [{ image: 'none', ...container }] })
  expect(owned(result)['a']).toEqual([
    '.spec.containers[name="main"]',
    '.spec.containers[name="main"].name',
    '.spec.containers[name="main"].env[name="A"]',
    '.spec.containers[name="main"].env[name="A"].name',
    '.spec.containers[name="main"].env[name="A"].value',
  ])
})

test('magic names are names', () => {
  const applied = JSON.parse('{"metadata":{"labels":{"__proto__":"1","constructor":"2"}}}')
  const state = apply(EMPTY, 'a', applied as JsonObject)
  expect(JSON.stringify(state.object)).toContain('{"__proto__":"1","constructor":"2"}')
  expect(JSON.stringify(apply(state, 'a', {}).object)).toBe('{"metadata":{},"spec":{}}')
})
