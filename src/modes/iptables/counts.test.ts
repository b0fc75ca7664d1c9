import { expect, test } from 'vitest'
import type { EntryId, ForwardingEntry, Frontend } from '../../forwarding/entry.ts'
import { type IpAddress, ipBytes } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'
import { objectOf } from '../netfilter/chains/object.ts'
import { kindOf } from '../netfilter/object-key.ts'
import { backend, cidr, entry, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { IptablesProgram } from './program.ts'

/**
 * What Services cost, pinned. A change of the rules' shape shows here as a change
 * of numbers on every axis, the ones that got worse included.
 */
const vip = (n: number) => ip(`172.30.${n >> 8}.${n & 255}`)
const outer = (n: number) => ip(`203.${n >> 16}.${(n >> 8) & 255}.${n & 255}`)
const external = { masquerade: 'always' } as const
const local = { pool: 'local', shortCircuit: true, masquerade: 'onNode' } as const

const KINDS: Readonly<Record<string, (n: number) => readonly Frontend[]>> = {
  ClusterIP: (n) => [frontend({ ip: vip(n) })],
  NodePort: (n) => [frontend({ ip: vip(n) }), nodePort(n, external)],
  LoadBalancer: (n) => [
    frontend({ ip: vip(n) }),
    nodePort(n, external),
    frontend({ kind: 'loadBalancerIP', ip: outer(n), ...external }),
  ],
  'LoadBalancer, 2 ranges': (n) => [
    frontend({ ip: vip(n) }),
    nodePort(n, external),
    frontend({
      kind: 'loadBalancerIP',
      ip: outer(n),
      ...external,
      sourceRanges: [cidr('192.0.2.0/24'), cidr('198.51.100.0/24')],
    }),
  ],
  'LoadBalancer, Local': (n) => [
    frontend({ ip: vip(n) }),
    nodePort(n, local),
    frontend({ kind: 'loadBalancerIP', ip: outer(n), ...local }),
  ],
}

function nodePort(n: number, overrides: Partial<Frontend>): Frontend {
  return frontend({ kind: 'nodePort', ip: 'node', port: 30_000 + n, ...overrides })
}

function programOf(
  services: number,
  endpoints: number,
  frontendsOf: (n: number) => readonly Frontend[],
  overrides: Partial<ForwardingEntry> = {},
) {
  const program = new IptablesProgram(settings({ families: [4] }))
  for (let n = 1; n <= services; n++) {
    const id = `ns/s${n}:p/TCP/4` as EntryId
    const cluster = Array.from({ length: endpoints }, (_, k) =>
      backend(`10.180.${k >> 8}.${k + 1}`),
    )
    const pools = { cluster, local: cluster.slice(0, 2) }
    program.replace(id, entry({ id, frontends: frontendsOf(n), pools, ...overrides }))
  }
  return program
}

/** `chains nat+filter, rules nat+filter, sets`, base objects included. */
function countsOf(program: IptablesProgram): string {
  const counts = { chains: { nat: 0, filter: 0 }, rules: { nat: 0, filter: 0 }, sets: 0 }
  for (const key of program.takeChanges().keys()) {
    if (kindOf(key) === 'set') counts.sets++
    else {
      const { kind, table } = objectOf(key)
      if (table === 'mangle') throw new Error(`${key} in mangle`)
      if (kind === 'chain') counts.chains[table]++
      counts.rules[table] += program.describe(key).rules?.count ?? 0
    }
  }
  const { chains, rules, sets } = counts
  return `${chains.nat}+${chains.filter} ${rules.nat}+${rules.filter} ${sets}`
}

test('chains, rules and sets by kind, Services and endpoints', () => {
  const table = Object.entries(KINDS).flatMap(([kind, frontendsOf]) =>
    [
      [1, 0],
      [1, 1],
      [1, 10],
      [100, 10],
      [1_000, 10],
    ].map(([services = 0, endpoints = 0]) => {
      const counts = countsOf(programOf(services, endpoints, frontendsOf))
      return `${kind}: ${services} × ${endpoints} = ${counts}`
    }),
  )
  expect(table).toMatchInlineSnapshot(`
    [
      "ClusterIP: 1 × 0 = 4+4 11+12 0",
      "ClusterIP: 1 × 1 = 5+4 14+12 0",
      "ClusterIP: 1 × 10 = 5+4 23+12 0",
      "ClusterIP: 100 × 10 = 120+20 1227+127 0",
      "ClusterIP: 1000 × 10 = 1276+276 12283+1283 0",
      "NodePort: 1 × 0 = 4+4 11+13 0",
      "NodePort: 1 × 1 = 5+4 16+12 0",
      "NodePort: 1 × 10 = 5+4 25+12 0",
      "NodePort: 100 × 10 = 127+20 1434+127 0",
      "NodePort: 1000 × 10 = 1355+276 14349+1283 0",
      "LoadBalancer: 1 × 0 = 4+4 11+14 0",
      "LoadBalancer: 1 × 1 = 5+4 18+13 0",
      "LoadBalancer: 1 × 10 = 5+4 27+13 0",
      "LoadBalancer: 100 × 10 = 127+20 1634+227 0",
      "LoadBalancer: 1000 × 10 = 1355+276 16349+2283 0",
      "LoadBalancer, 2 ranges: 1 × 0 = 4+4 11+16 0",
      "LoadBalancer, 2 ranges: 1 × 1 = 7+4 21+13 0",
      "LoadBalancer, 2 ranges: 1 × 10 = 7+4 30+13 0",
      "LoadBalancer, 2 ranges: 100 × 10 = 327+20 1934+227 0",
      "LoadBalancer, 2 ranges: 1000 × 10 = 3355+276 19349+2283 0",
      "LoadBalancer, Local: 1 × 0 = 4+4 11+14 0",
      "LoadBalancer, Local: 1 × 1 = 7+4 21+13 0",
      "LoadBalancer, Local: 1 × 10 = 7+4 31+13 0",
      "LoadBalancer, Local: 100 × 10 = 327+20 2034+227 0",
      "LoadBalancer, Local: 1000 × 10 = 3355+276 20349+2283 0",
    ]
  `)
})

test('session affinity costs four rules and a set for each endpoint', () => {
  const sticky = (endpoints: number) =>
    countsOf(programOf(1, endpoints, KINDS['ClusterIP']!, { affinity: { seconds: 60 } }))
  expect([1, 2, 10].map(sticky)).toMatchInlineSnapshot(`
    [
      "5+4 18+12 1",
      "5+4 22+12 2",
      "5+4 54+12 10",
    ]
  `)
})

test('rules that a new connection meets before its Service’s chain, at most and on average', () => {
  const met = [1, 48, 100, 1_000, 10_000].map((services) => {
    const program = programOf(services, 1, KINDS['ClusterIP']!)
    const counts = Array.from({ length: services }, (_, n) => rulesMet(program, vip(n + 1)))
    const mean = counts.reduce((sum, count) => sum + count, 0) / services
    return `${services}: ${Math.max(...counts)}, ${mean.toFixed(1)}`
  })
  expect(met).toMatchInlineSnapshot(`
    [
      "1: 1, 1.0",
      "48: 48, 24.5",
      "100: 22, 11.9",
      "1000: 35, 19.3",
      "10000: 71, 37.0",
    ]
  `)
})

/** Walks from the root to the Service's own chain as a packet would. */
function rulesMet(program: IptablesProgram, destination: IpAddress): number {
  let [met, chain] = [0, 'NPROXY-VIPS']
  while (!chain.startsWith('NPROXY-C-')) {
    const rules = program.rulesOf(`4/nat/${chain}` as ObjectKey) ?? []
    const hit = rules.findIndex((rule) => matches(rule, destination))
    if (hit < 0) throw new Error(`${destination} is lost in ${chain}`)
    met += hit + 1
    chain = rules[hit]?.split(' -g ')[1] ?? ''
  }
  return met
}

function matches(rule: string, destination: IpAddress): boolean {
  const [, address = '', mask = ''] = /^-d ([\d.]+)\/([\d.]+) /.exec(rule) ?? []
  const bits = mask.includes('.') ? wordOf(mask) : (2 ** 32 - 2 ** (32 - Number(mask))) >>> 0
  return (wordOf(destination) & bits) >>> 0 === wordOf(address)
}

function wordOf(address: string): number {
  return ipBytes(address as IpAddress).reduce((word, byte) => word * 256 + byte, 0)
}
