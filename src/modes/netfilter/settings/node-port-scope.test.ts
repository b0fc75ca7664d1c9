import { expect, test } from 'vitest'
import { cidr, ip } from '../../../forwarding/testing/fixtures.ts'
import type { Node } from '../../../resources/types.ts'
import { isInScope, type NodePortScope, nodePortScope } from './node-port-scope.ts'

const node: Node = {
  name: 'here',
  zone: undefined,
  addresses: [ip('192.0.2.1'), ip('2001:db8::1')],
  podCIDRs: [],
  leaving: false,
}

test('an empty list in the configuration is every address, whatever the Node object has', () => {
  expect(nodePortScope([], node)).toEqual({ kind: 'all' })
  expect(nodePortScope([], undefined)).toEqual({ kind: 'all' })
})

test('networks are those of the configuration', () => {
  const networks = [cidr('192.0.2.0/24')]
  expect(nodePortScope(networks, undefined)).toEqual({ kind: 'networks', networks })
})

test('primary is the addresses of the Node object, and none without it or without addresses', () => {
  expect(nodePortScope('primary', node)).toEqual({ kind: 'addresses', addresses: node.addresses })
  const none = { kind: 'addresses', addresses: [] }
  expect(nodePortScope('primary', undefined)).toEqual(none)
  expect(nodePortScope('primary', { ...node, addresses: [] })).toEqual(none)
})

test.each<readonly [NodePortScope, boolean]>([
  [{ kind: 'all' }, true],
  [{ kind: 'networks', networks: [cidr('192.0.2.0/24')] }, true],
  [{ kind: 'networks', networks: [cidr('::/0')] }, false],
  [{ kind: 'networks', networks: [] }, false],
  [{ kind: 'addresses', addresses: [ip('192.0.2.1')] }, true],
  [{ kind: 'addresses', addresses: [ip('192.0.2.2')] }, false],
  [{ kind: 'addresses', addresses: [] }, false],
])('%j has 192.0.2.1: %s', (scope, expected) => {
  expect(isInScope(scope, ip('192.0.2.1'))).toBe(expected)
})
