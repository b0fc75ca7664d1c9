import { expect, test } from 'vitest'
import { readAddress } from '../../../kernel/nftables/rules/encode.ts'
import type { NodePortScope } from '../../netfilter/settings/node-port-scope.ts'
import { cidr, ip, settings } from '../../testing/mode-fixtures.ts'
import { baseSets } from './base-sets.ts'

const setsOf = (family: 4 | 6, nodePortScope: NodePortScope = { kind: 'all' }) =>
  new Map(baseSets(settings({ nodePortScope }), family).map((set) => [set.name, set]))

test.each([
  [4, 'ipv4_addr'],
  [6, 'ipv6_addr'],
] as const)('keys and data in IPv%s', (family, address) => {
  const sets = setsOf(family)
  const frontend = [address, 'inet_proto', 'inet_service']
  const backend = [address, 'inet_service']
  const specOf = (name: string) => sets.get(name)?.spec
  expect(specOf('services')).toEqual({ key: frontend, data: 'verdict' })
  expect(specOf('node-ports')).toEqual({ key: frontend.slice(1), data: 'verdict' })
  expect(specOf('endpoints')).toEqual({ key: [...frontend, 'index'], data: backend })
  expect(specOf('node-port-endpoints')).toEqual({
    key: [...frontend.slice(1), 'index'],
    data: backend,
  })
  expect(specOf('limited-services')).toEqual({ key: frontend })
  expect(specOf('source-ranges')).toEqual({ key: [...frontend, address], isInterval: true })
  for (const name of ['services', 'node-ports', 'endpoints', 'node-port-endpoints']) {
    expect(specOf(`inside-${name}`)).toEqual(specOf(name))
  }
})

test.each([
  [4, 'ipv4_addr'],
  [6, 'ipv6_addr'],
] as const)('what counts in IPv%s is there where that is wanted', (family, address) => {
  const specs = new Map(
    baseSets(settings({ countsTraffic: true }), family).map(({ name, spec }) => [name, spec]),
  )
  const port = ['inet_proto', 'inet_service']
  expect(specs.get('traffic-in')).toEqual({ key: [address, ...port], hasCounters: true })
  expect(specs.get('node-port-traffic-out')).toEqual({ key: port, hasCounters: true })
  expect(specs.get('connections')).toEqual({
    key: [address, ...port, address, 'inet_service'],
    isDynamic: true,
    hasTimeouts: true,
    size: 131_072,
  })
  const without = [...setsOf(family).keys()]
  expect(without.filter((name) => /traffic|connections/.test(name))).toEqual([])
})

test('two addresses are equal exactly where each pair of bytes is in the set', () => {
  for (const [family, length] of [
    [4, 4],
    [6, 16],
  ] as const) {
    const keys =
      setsOf(family)
        .get('same-byte')
        ?.elements.map(({ key }) => key) ?? []
    expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(255 * length + 1)
    for (const key of keys) {
      expect(key.subarray(0, length).equals(key.subarray(length))).toBe(true)
      expect([...key.subarray(0, length)].filter((byte) => byte !== 0).length).toBeLessThan(2)
    }
  }
})

test('addresses of node ports: disjoint networks of the family, where not every address serves', () => {
  const rangesOf = (family: 4 | 6, scope: NodePortScope) =>
    setsOf(family, scope)
      .get('node-port-addresses')
      ?.elements.map(({ key, keyEnd }) => `${readAddress(key)}-${keyEnd && readAddress(keyEnd)}`)
  const texts = ['10.0.0.0/8', '10.1.0.0/16', 'fd00::/127', '192.0.2.1/32']
  const networks = { kind: 'networks', networks: texts.map(cidr) } as const
  expect(rangesOf(4, networks)).toEqual(['10.0.0.0-10.255.255.255', '192.0.2.1-192.0.2.1'])
  expect(rangesOf(6, networks)).toEqual(['fd00::-fd00::1'])
  const addresses = { kind: 'addresses', addresses: [ip('192.0.2.1')] } as const
  expect(rangesOf(4, addresses)).toEqual(['192.0.2.1-192.0.2.1'])
  expect(rangesOf(6, addresses)).toBeUndefined()
  expect(rangesOf(4, { kind: 'all' })).toBeUndefined()
  expect(rangesOf(4, { kind: 'networks', networks: [cidr('0.0.0.0/0')] })).toBeUndefined()
})

test('Service ranges are intervals; there is no set where none of the family is known', () => {
  const serviceRanges = [cidr('10.96.0.0/12'), cidr('fd00:96::/108')]
  const ranges = baseSets(settings({ serviceRanges }), 4).find(
    ({ name }) => name === 'service-ranges',
  )
  expect(ranges?.spec).toEqual({ key: ['ipv4_addr'], isInterval: true })
  const ends = ranges?.elements.map(({ key, keyEnd }) => [readAddress(key), readAddress(keyEnd!)])
  expect(ends).toEqual([['10.96.0.0', '10.111.255.255']])
  expect(setsOf(4).has('service-ranges')).toBe(false)
})
