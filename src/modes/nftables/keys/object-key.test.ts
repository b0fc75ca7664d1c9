import fc from 'fast-check'
import { expect, test } from 'vitest'
import { frontendAddress, indexed } from '../../../kernel/nftables/rules/encode.ts'
import { type Family, parseIp } from '../../../lib/ip.ts'
import { settings } from '../../testing/mode-fixtures.ts'
import { baseSets } from '../program/base-sets.ts'
import { SET } from './names.ts'
import { frontendKey, keyOf, keyOfElement, type ObjectKind, objectOf } from './object-key.ts'

const kind = fc.constantFrom<ObjectKind>('table', 'set', 'chain', 'frontend')
const family = fc.constantFrom<Family>(4, 6)
const ip = (text: string) => parseIp(text)!

test('a key names its object', () => {
  fc.assert(
    fc.property(family, kind, fc.string({ minLength: 1 }), (of, what, name) => {
      expect(objectOf(keyOf(of, what, name))).toEqual({ family: of, kind: what, name })
    }),
  )
})

test.each(['', '4/frontend', '4/frontend/', '5/set/a', '4/rule/a', 'x4/set/a'])(
  '%j is no key',
  (text) => expect(() => objectOf(text as ReturnType<typeof keyOf>)).toThrow(TypeError),
)

test.each([
  [4, '10.96.0.1', '4/frontend/10.96.0.1:80/TCP'],
  [6, 'fd00::1', '6/frontend/[fd00::1]:80/TCP'],
] as const)('frontends of IPv%s', (of, text, key) => {
  const at = { port: 80, protocol: 'TCP' } as const
  expect(frontendKey(of, { ip: ip(text), ...at })).toBe(key)
  expect(frontendKey(of, { ip: 'node', ...at })).toBe(`${of}/frontend/node:80/TCP`)
})

const somePort = fc.integer({ min: 0, max: 65_535 })
const someProtocol = fc.constantFrom('TCP', 'UDP', 'SCTP')
const isByPort: ReadonlySet<string> = new Set([
  SET.nodePorts,
  SET.insideNodePorts,
  SET.nodePortEndpoints,
  SET.insideNodePortEndpoints,
  SET.noEndpointNodePorts,
  SET.rememberedNodePorts,
])
const ofNoFrontend: readonly string[] = [
  SET.sameByte,
  SET.nodePortAddresses,
  SET.clusterAddresses,
  SET.connections,
]

test.each([4, 6] as const)('an element of any map of IPv%s belongs to its frontend', (of) => {
  const address = fc.uint8Array({ minLength: of === 4 ? 4 : 16, maxLength: of === 4 ? 4 : 16 })
  const maps = baseSets(settings(), of).map(({ name }) => name)
  const frontendMaps = maps.filter((name) => !ofNoFrontend.includes(name))
  expect(frontendMaps).toHaveLength(14)
  fc.assert(
    fc.property(address, somePort, someProtocol, fc.nat(5_000), (bytes, port, protocol, index) => {
      for (const map of frontendMaps) {
        const at = isByPort.has(map)
          ? 'node'
          : ip(Buffer.from(bytes).toString('hex').length === 8 ? bytes.join('.') : v6(bytes))
        const key = frontendAddress(at, protocol, port)
        const owner = frontendKey(of, { ip: at, port, protocol })
        expect(keyOfElement(of, map, key)).toBe(owner)
        expect(keyOfElement(of, map, indexed(key, index))).toBe(owner)
      }
    }),
    { numRuns: 30 },
  )
})

function v6(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('hex')
    .replaceAll(/(....)(?=.)/g, '$1:')
}

test('other elements belong to their set; clients that packets added to nothing', () => {
  const key = Buffer.alloc(8)
  expect(keyOfElement(4, SET.sameByte, key)).toBe('4/set/same-byte')
  expect(keyOfElement(4, 'backends-x', key)).toBe('4/set/backends-x')
  expect(keyOfElement(4, 'affinity-x', key)).toBeUndefined()
  expect(keyOfElement(6, 'affinity-x-local-ports', key)).toBeUndefined()
})

test('an element of a protocol that no Service has is of a frontend that none wants', () => {
  const key = frontendAddress(ip('10.0.0.1'), 'TCP', 80)
  key[4] = 1
  expect(keyOfElement(4, SET.services, key)).toBe('4/frontend/10.0.0.1:80/protocol 1')
})
