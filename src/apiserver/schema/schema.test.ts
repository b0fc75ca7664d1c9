import { expect, test } from 'vitest'
import { fieldsOf, jsonFormOf, messageNames, messageOf, wireFieldsOf } from './schema.ts'
import table from './table.json' with { type: 'json' }

const SCALARS = ['string', 'bool', 'int32', 'int64', 'bytes']

test('every field has a known type and its own number', () => {
  for (const [message, row] of Object.entries(table)) {
    const fields = [...wireFieldsOf(message)!.values()]
    expect(fields.length, `${message} has fields`).toBe(Object.keys(row).length)
    for (const { type, name } of fields) {
      const isKnown =
        SCALARS.includes(type) || jsonFormOf(type) !== undefined || fieldsOf(type) !== undefined
      expect(isKnown, `${message}.${name}: ${type}`).toBe(true)
    }
  }
})

test('no message holds itself, so nothing that it describes is endlessly deep', () => {
  const done = new Set<string>()
  const visit = (message: string, holders: readonly string[]): void => {
    expect(holders).not.toContain(message)
    if (done.has(message)) return
    for (const { type } of wireFieldsOf(message)?.values() ?? []) visit(type, [...holders, message])
    done.add(message)
  }
  for (const message of messageNames()) visit(message, [])
})

test('a kind leads to one message under both brands', () => {
  expect(messageOf('v1', 'Service')).toBe('core.v1.Service')
  expect(messageOf('apps/v1', 'Deployment')).toBe('apps.v1.Deployment')
  for (const group of ['rbac.authorization.k8s.io', 'rbac.authorization.orch.io'])
    expect(messageOf(`${group}/v1`, 'RoleList')).toBe('rbac.v1.RoleList')
  expect(messageOf('apps/v1', 'DeleteOptions')).toBe('meta.v1.DeleteOptions')
})

test.each([
  ['v1', 'Widget'],
  ['v2', 'Service'],
  ['example.com/v1', 'Service'],
  ['', ''],
  ['v1', '__proto__'],
  ['__proto__/v1', 'constructor'],
])('%s %s has no message', (apiVersion, kind) => {
  expect(messageOf(apiVersion, kind)).toBeUndefined()
})

test('in JSON the fields of inline messages stand beside the others', () => {
  expect(fieldsOf('core.v1.Volume')?.get('configMap')?.type).toBe('core.v1.ConfigMapVolumeSource')
  expect(fieldsOf('core.v1.Volume')?.has('volumeSource')).toBe(false)
  expect(fieldsOf('core.v1.EphemeralContainer')?.has('image')).toBe(true)
  expect(fieldsOf('core.v1.ConfigMapKeySelector')?.has('name')).toBe(true)
})

test('presence decides what a zero means', () => {
  expect(fieldsOf('core.v1.ServicePort')?.get('port')?.presence).toBe('always')
  expect(fieldsOf('core.v1.ServicePort')?.get('nodePort')?.presence).toBe('implicit')
  expect(fieldsOf('discovery.v1.EndpointConditions')?.get('ready')?.presence).toBe('optional')
})

test('a message that is no object in JSON has a form instead of fields', () => {
  expect(jsonFormOf('meta.v1.Time')).toBe('time')
  expect(fieldsOf('meta.v1.Time')).toBeUndefined()
  expect(jsonFormOf('core.v1.Service')).toBeUndefined()
  expect(fieldsOf('toString')).toBeUndefined()
})
