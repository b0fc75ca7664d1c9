import { expect, test } from 'vitest'
import { fieldsOf } from '../schema/schema.ts'
import { listRule, mergeRuleOf } from './merge-keys.ts'

test.each([
  ['Service', 'spec.ports', 'port'],
  ['Pod', 'spec.containers.env', 'name'],
  ['Deployment', 'spec.template.spec.containers.ports', 'containerPort'],
  ['Deployment', 'spec.template.metadata.ownerReferences', 'uid'],
  ['EndpointSlice', 'metadata.ownerReferences', 'uid'],
  ['Pod', 'spec.schedulingGates', 'name'],
  ['Pod', 'spec.resourceClaims', 'name'],
  ['Pod', 'status.resourceClaimStatuses', 'name'],
])('of a %s, elements of %s are identified by %s', (kind, path, key) => {
  expect(listRule(kind, path)).toEqual({ key })
})

test.each([
  ['Service', 'metadata.finalizers', {}],
  ['Service', 'spec.externalIPs', undefined],
  ['Service', 'ports', undefined],
  ['Service', 'spec.selector.ports', undefined],
  ['Nothing', 'metadata.finalizers', undefined],
])('the list of a %s at %s has the rule %j', (kind, path, rule) => {
  expect(listRule(kind, path)).toEqual(rule)
})

test('a key is a field of the elements', () => {
  const type = fieldsOf('core.v1.EphemeralContainer')?.get('ports')?.type ?? ''
  const { key = '' } = mergeRuleOf('core.v1.EphemeralContainer', 'ports') ?? {}
  expect(fieldsOf(type)?.has(key)).toBe(true)
})
