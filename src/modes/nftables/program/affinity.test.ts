import { expect, test } from 'vitest'
import type { EntryId } from '../../../forwarding/entry.ts'
import { backend, cidr, entry, frontend, ip, settings } from '../../testing/mode-fixtures.ts'
import { showEntry as showWith } from '../testing/show-program.ts'
import { render } from './render.ts'

const showEntry = (one: Parameters<typeof showWith>[0], given = settings()) => showWith(one, given)

const affinity = { seconds: 60 }
const clusterIP = frontend()
const nodePort = frontend({ kind: 'nodePort', ip: 'node', port: 30_080, masquerade: 'always' })
const external = frontend({
  kind: 'externalIP',
  ip: ip('1.2.3.4'),
  pool: 'local',
  shortCircuit: true,
  masquerade: 'onNode',
})
const here = backend('10.180.0.1')
const twoPools = { cluster: [here, backend('10.180.0.2')], local: [here] }

test('a known client goes to its backend, another is chosen one, and is remembered with it', () => {
  expect(showEntry(entry({ frontends: [clusterIP, nodePort], affinity }))).toEqual({
    elements: [
      'services 172.30.0.41 . tcp . 80 comment "shop/cart:http/TCP/4" : goto sticky-#-choose-2-off-cluster',
      'endpoints 172.30.0.41 . tcp . 80 . 0 : 10.180.0.1 . 8080',
      'endpoints 172.30.0.41 . tcp . 80 . 1 : 10.180.0.2 . 8080',
      'remembered 172.30.0.41 . tcp . 80 : jump remember-#',
      'node-ports tcp . 30080 comment "shop/cart:http/TCP/4" : goto sticky-#-node-port-choose-2-masquerade',
      'node-port-endpoints tcp . 30080 . 2000000 : 10.180.0.1 . 8080',
      'node-port-endpoints tcp . 30080 . 2000001 : 10.180.0.2 . 8080',
      'remembered-node-ports tcp . 30080 : jump remember-#',
    ],
    sets: { 'affinity-#': [], 'backends-#': ['10.180.0.1 . 8080', '10.180.0.2 . 8080'] },
    chains: {
      'remember-#': [
        'daddr . dport @backends-# update @affinity-# { saddr timeout 60000ms : daddr . dport }',
      ],
      'sticky-#-choose-2-off-cluster': [
        'saddr/8 != 0a mark set mark & ffffbfff ^ 00004000',
        'l4proto == 06 dnat to saddr map @affinity-# : saddr map @affinity-#',
        'goto choose-2-off-cluster',
      ],
      'sticky-#-node-port-choose-2-masquerade': [
        'mark set mark & ffffbfff ^ 00004000',
        'l4proto == 06 dnat to saddr map @affinity-# : saddr map @affinity-#',
        'goto node-port-choose-2-masquerade',
      ],
    },
    choices: ['choose-2-off-cluster', 'node-port-choose-2-masquerade'],
  })
})

test('entries that share their clients remember the Pod, and add their own port', () => {
  const sharing = (name: string, port: number) =>
    entry({
      id: `shop/cart:${name}/TCP/4` as EntryId,
      affinity: { seconds: 60, isShared: true },
      pools: { cluster: [backend('10.180.0.1', { port })], local: [] },
    })
  const one = showEntry(sharing('http', 8080))
  expect(one.sets).toEqual({ 'affinity-#': [], 'pods-#': ['10.180.0.1'] })
  expect(one.chains).toEqual({
    'remember-#': ['daddr @pods-# update @affinity-# { saddr timeout 60000ms : daddr }'],
    'sticky-#-choose-1-off-cluster': [
      'saddr/8 != 0a mark set mark & ffffbfff ^ 00004000',
      'l4proto == 06 dnat to saddr map @affinity-# : 1f90',
      'goto choose-1-off-cluster',
    ],
  })
  const setsOf = (name: string, port: number) =>
    [...render(sharing(name, port), settings()).objects.keys()].filter((key) => /set/.test(key))
  expect(setsOf('http', 8080)).toEqual(setsOf('admin', 9090))
})

test('IPv6: one map is enough where clients are shared', () => {
  const one = entry({
    family: 6,
    affinity: { seconds: 60, isShared: true },
    frontends: [frontend({ ip: ip('fd00:30::1') })],
    pools: { cluster: [backend('fd00:180::1')], local: [] },
  })
  const { sets, chains } = showEntry(one, settings({ localTraffic: { by: 'none' } }))
  expect(sets).toEqual({ 'affinity-#': [], 'pods-#': ['fd00:180::1'] })
  expect(chains['sticky-#-choose-1']?.[0]).toBe(
    'l4proto == 06 dnat to saddr map @affinity-# : 1f90',
  )
})

test('where Pods have different ports, an entry has clients of its own', () => {
  const cluster = [here, backend('10.180.0.2', { port: 9090 })]
  const affinity = { seconds: 60, isShared: true } as const
  const { sets } = showEntry(entry({ affinity, pools: { cluster, local: [] } }))
  expect(sets['backends-#']).toEqual(['10.180.0.1 . 8080', '10.180.0.2 . 9090'])
})

test('both pools: a client of the local pool is remembered apart, with a local backend', () => {
  const { sets, chains } = showEntry(entry({ frontends: [external], pools: twoPools, affinity }))
  expect(sets).toEqual({
    'affinity-#': [],
    'backends-#': ['10.180.0.1 . 8080', '10.180.0.2 . 8080'],
    'affinity-#-local': [],
    'backends-#-local': ['10.180.0.1 . 8080'],
  })
  expect(chains['remember-#']).toEqual([
    'daddr . dport @backends-# update @affinity-# { saddr timeout 60000ms : daddr . dport }',
    'daddr . dport @backends-#-local update @affinity-#-local { saddr timeout 60000ms : daddr . dport }',
  ])
  expect(chains['sticky-#-local-choose-1']).toContain(
    'l4proto == 06 dnat to saddr map @affinity-#-local : saddr map @affinity-#-local',
  )
})

test('two pools with one choice chain have each a chain of their own before it', () => {
  const given = settings({ localTraffic: { by: 'source', cidrs: [cidr('0.0.0.0/0')] } })
  const pools = { cluster: [backend('10.180.0.2')], local: [here] }
  const one = entry({ frontends: [clusterIP, external], pools, affinity })
  const { chains, choices } = showEntry(one, given)
  expect(choices).toEqual(['choose-1', 'inside-choose-1'])
  expect(chains['sticky-#-choose-1']?.[0]).toMatch(/@affinity-#$/)
  expect(chains['sticky-#-local-choose-1']?.[0]).toMatch(/@affinity-#-local$/)
})

test('the clients of a pool stay in the same map when the other pool comes and goes', () => {
  const namesOf = (pools: typeof twoPools) =>
    Object.keys(showEntry(entry({ frontends: [external], pools, affinity })).sets)
  expect(namesOf({ cluster: [], local: [here] })).toEqual(['affinity-#-local', 'backends-#-local'])
  expect(namesOf({ cluster: [here], local: [] })).toEqual(['affinity-#', 'backends-#'])
})

test('IPv6: address and port are remembered in two maps, and forgotten together', () => {
  const one = entry({
    family: 6,
    affinity,
    frontends: [frontend({ ip: ip('fd00:30::1') })],
    pools: { cluster: [backend('fd00:180::1')], local: [] },
  })
  const { sets, chains } = showEntry(one, settings({ localTraffic: { by: 'none' } }))
  expect(Object.keys(sets)).toEqual(['affinity-#', 'affinity-#-ports', 'backends-#'])
  expect(chains).toEqual({
    'remember-#': [
      'daddr . dport @backends-# update @affinity-# { saddr timeout 60000ms : daddr } update @affinity-#-ports { saddr timeout 60000ms : dport }',
    ],
    'sticky-#-choose-1': [
      'l4proto == 06 dnat to saddr map @affinity-# : saddr map @affinity-#-ports',
      'delete @affinity-# { saddr : daddr } delete @affinity-#-ports { saddr : dport }',
      'goto choose-1',
    ],
  })
})

test('a backend of weight 0 is not remembered, one in several slots is one backend', () => {
  const cluster = [here, backend('10.180.0.2', { weight: 0 }), backend('10.180.0.3', { weight: 2 })]
  const { sets } = showEntry(entry({ pools: { cluster, local: [] }, affinity }))
  expect(sets['backends-#']).toEqual(['10.180.0.1 . 8080', '10.180.0.3 . 8080'])
})

test('without a backend there is nothing to remember', () => {
  const { sets, chains, elements } = showEntry(
    entry({ pools: { cluster: [], local: [] }, affinity }),
  )
  expect([sets, chains]).toEqual([{}, {}])
  expect(elements.filter((element) => element.startsWith('remembered'))).toEqual([])
})

test('a map holds more than 65,536 clients, and allocates nothing for them in advance', () => {
  const { objects } = render(entry({ affinity }), settings())
  const sizes = [...objects.values()].flatMap((content) =>
    content.kind === 'set' && content.spec.isDynamic ? [content.spec.size ?? 0] : [],
  )
  expect(sizes.every((size) => size > 65_536 && size % 2 ** 16 === 0)).toBe(true)
  expect(sizes).toHaveLength(1)
})
