import { expect, test } from 'vitest'
import { ip } from '../../forwarding/testing/fixtures.ts'
import type { Element } from '../../kernel/nftables/objects.ts'
import { LiveElements } from './live-elements.ts'
import { addressPart, numberPart } from './model/value.ts'

const CLIENTS = { family: 'ip', table: 'node-proxy', name: 'clients', type: 'ipv4_addr' }
const PORTS = { ...CLIENTS, name: 'ports', type: 'inet_service', map: 'verdict' }
const KEY = [addressPart(ip('10.0.0.1'))]

/** Elements that read `kernel` by key, or `listed` from nft; with what was read. */
function live(
  kernel: Readonly<Record<string, Element>>,
  listed: readonly string[] = [],
  status = 0,
) {
  const read: string[] = []
  const elements = new LiveElements(
    async (program, args) => {
      read.push([program, ...args].join(' '))
      const set = { elem: listed }
      return { status, stdout: JSON.stringify({ nftables: [{ set }] }), stderr: '' }
    },
    async (table, set, key) => {
      read.push(`${table.family} ${table.name} ${set} ${key.toString('hex')}`)
      return kernel[key.toString('hex')]
    },
  )
  return { elements, read }
}

test('an element is looked up once, when a packet needs it', async () => {
  const { elements, read } = live({ '0a000001': { key: Buffer.from([10, 0, 0, 1]) } })
  const clients = elements.of(CLIENTS, 'set')
  expect(await elements.read()).toBe(false)
  expect(clients.withKey(KEY)).toBeUndefined()
  expect(await elements.read()).toBe(true)
  expect(clients.withKey(KEY)).toEqual(['10.0.0.1'])
  expect(await elements.read()).toBe(false)
  expect(read).toEqual(['4 node-proxy clients 0a000001'])
})

test('one that is not there is known not to be', async () => {
  const { elements } = live({})
  const clients = elements.of(CLIENTS, 'set')
  clients.withKey(KEY)
  await elements.read()
  expect(clients.withKey(KEY)).toEqual([])
})

test('elements look as nft prints them', async () => {
  const { elements } = live({
    '00500000': { key: Buffer.from([0, 80, 0, 0]), data: { kind: 'goto', chain: 'web' } },
    '00510000': {
      key: Buffer.from([0, 81, 0, 0]),
      data: { kind: 'drop' },
      timeout: 60_000,
      expires: 59_999,
    },
  })
  const ports = elements.of(PORTS, 'map')
  const keys = [80, 81].map((port) => [numberPart(port)])
  for (const key of keys) ports.withKey(key)
  await elements.read()
  expect(keys.map((key) => ports.withKey(key))).toEqual([
    [[80, { goto: { target: 'web' } }]],
    [[{ elem: { val: 81, timeout: 60, expires: 59 } }, { drop: null }]],
  ])
})

test.each([
  ['has ranges', { flags: ['interval'] }, 'ip node-proxy clients'],
  ['is of another program', { table: 'firewall' }, 'ip firewall clients'],
  ['is of another family', { family: 'inet' }, 'inet node-proxy clients'],
  ['has keys of another type', { type: ['ipv4_addr', 'ifname'] }, 'ip node-proxy clients'],
])('a set that %s is listed as a whole', async (_, otherwise, named) => {
  const { elements, read } = live({}, ['10.0.0.0/8'])
  const clients = elements.of({ ...CLIENTS, ...otherwise }, 'set')
  expect(clients.withKey(KEY)).toBeUndefined()
  expect(await elements.read()).toBe(true)
  expect(clients.withKey(KEY)).toEqual(['10.0.0.0/8'])
  expect(read).toEqual([`nft -j list set ${named}`])
})

test('a set that is gone meanwhile has elements that are not known, and is read once', async () => {
  const { elements, read } = live({}, [], 1)
  const clients = elements.of({ ...CLIENTS, table: 'firewall' }, 'set')
  clients.withKey(KEY)
  expect(await elements.read()).toBe(true)
  expect(clients.withKey(KEY)).toBeUndefined()
  expect(await elements.read()).toBe(false)
  expect(read).toHaveLength(1)
})
