import { expect, test } from 'vitest'
import { cidr, ip } from '../../forwarding/testing/fixtures.ts'
import type { Node } from '../../resources/types.ts'
import { configuration } from '../testing/wiring.ts'
import { isEligible, nodeContext, nodeNameOf } from './node-identity.ts'

const node: Node = {
  name: 'here',
  zone: 'a',
  addresses: [ip('192.0.2.1'), ip('2001:db8::1')],
  podCIDRs: [],
  leaving: false,
}

test('the name is that of the host unless the configuration has one', () => {
  expect(nodeNameOf(configuration(), 'Host.Example ')).toBe('host.example')
  expect(nodeNameOf(configuration({ hostnameOverride: 'node-1' }), 'host')).toBe('node-1')
})

test('a node gets traffic unless it is leaving or its object is gone', () => {
  const leaving = { ...node, leaving: true }
  expect(isEligible(undefined, undefined)).toBeUndefined()
  expect(isEligible(undefined, node)).toBe(true)
  expect(isEligible(node, leaving)).toBe(false)
  expect(isEligible(leaving, node)).toBe(true)
  expect(isEligible(node, undefined)).toBe(false)
})

test('its addresses are those of the object and of the interfaces, once each', () => {
  const local = [ip('192.0.2.1'), ip('198.51.100.1')]
  const context = nodeContext(configuration(), 'here', { node, local })
  expect(context.addresses).toEqual({ 4: ['192.0.2.1', '198.51.100.1'], 6: ['2001:db8::1'] })
  expect([context.zone, context.allowedExternalIPs, context.proxyName]).toEqual([
    'a',
    undefined,
    undefined,
  ])
})

test('the configuration limits external IPs and names the proxy', () => {
  const config = configuration({ allowedExternalIPs: [cidr('192.0.2.0/24')], proxyName: 'mine' })
  const context = nodeContext(config, 'here', { node: undefined, local: [] })
  expect(context).toMatchObject({ allowedExternalIPs: ['192.0.2.0/24'], proxyName: 'mine' })
})
