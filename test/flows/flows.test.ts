import { describe, expect, test } from 'vitest'
import { compileService, recompile } from '../../src/forwarding/compile.ts'
import type { ForwardingEntry } from '../../src/forwarding/entry.ts'
import { explain } from '../../src/forwarding/explain.ts'
import { healthCheckOf } from '../../src/forwarding/health-check.ts'
import { ForwardingTable } from '../../src/forwarding/table.ts'
import { ip } from '../../src/forwarding/testing/fixtures.ts'
import type { IpAddress } from '../../src/lib/ip.ts'
import { type Flow, type FlowConfig, readFlows } from './flow-file.ts'
import { interpret } from './interpret.ts'
import { type NodeSide, nodeSide } from './node-side.ts'
import { World } from './world.ts'

const file = readFlows()

test('the flow file holds 127 flows in 23 configurations', () => {
  const flows = file.configs.flatMap(({ steps }) => steps.flatMap((step) => step.flows))
  expect(flows.length).toBe(127)
  expect(file.configs.length).toBe(23)
})

describe.each(file.configs.map((config) => [config.id, config] as const))('%s', (_, config) => {
  const node = nodeSide(file, config)
  test.each(replay(config, node))('%s', (_name, { flow, entries, world, table }) => {
    const cluster = world.cluster()
    const checks = world.keys().flatMap((key) => healthCheckOf(key, cluster, node.context) ?? [])
    const actual = interpret(flow, entries, checks, node)
    expect(actual.outcome).toBe(flow.expect.outcome)
    expectBackends(flow, actual)
    if (flow.http !== undefined) {
      const check = checks.find(({ port }) => port === flow.dport)
      expect(check?.localEndpoints).toBe(flow.http.body.localEndpoints)
    }
    if (flow.sticky !== undefined) expect(entries.find(({ affinity }) => affinity)).toBeDefined()
    expectExplanation(flow, table, node, actual)
  })
})

interface ReplayedStep {
  readonly flow: Flow
  readonly entries: readonly ForwardingEntry[]
  readonly world: World
  readonly table: ForwardingTable
}

/** Every flow with the entries of its moment: from a table that lived through all the steps. */
function replay(config: FlowConfig, node: NodeSide): readonly (readonly [string, ReplayedStep])[] {
  const steps: (readonly [string, ReplayedStep])[] = []
  const changes = config.steps.map(({ change }) => change)
  for (const [index, { flows }] of config.steps.entries()) {
    const world = new World(config)
    const keys = world.keys()
    const table = new ForwardingTable(node.context)
    for (const change of changes.slice(0, index + 1)) {
      if (change !== undefined) world.apply(change)
      for (const key of keys) {
        recompile(table, key, { cluster: world.cluster(), node: node.context, now: 0 })
      }
    }
    const cluster = world.cluster()
    const entries = keys.flatMap((key) => compileService(key, cluster, node.context))
    expect([...table.entries()].sort(byId)).toEqual([...entries].sort(byId))
    for (const flow of flows) {
      steps.push([`${index}: ${flow.name}`, { flow, entries: [...table.entries()], world, table }])
    }
  }
  return steps
}

function byId(a: ForwardingEntry, b: ForwardingEntry): number {
  return a.id < b.id ? -1 : 1
}

function expectBackends(flow: Flow, actual: ReturnType<typeof interpret>): void {
  const { endpoints, masquerade } = flow.expect
  if (endpoints === 'remaining') expect(actual.endpoints.length).toBe(2)
  else if (isNotPrevious(flow)) expect(actual.endpoints).toEqual(endpoints?.slice(1))
  else expect(actual.endpoints).toEqual(endpoints ?? [])
  if (masquerade !== undefined) expect(new Set(actual.masquerade)).toEqual(new Set([masquerade]))
}

/** The flow lists all endpoints, but the one that the client stuck to was removed (see World). */
function isNotPrevious({ sticky }: Flow): boolean {
  return typeof sticky === 'object' && sticky !== null && 'notPrevious' in sticky
}

function expectExplanation(
  flow: Flow,
  table: ForwardingTable,
  node: NodeSide,
  actual: ReturnType<typeof interpret>,
): void {
  const packet = { src: ip(flow.src), dst: ip(flow.dst), port: flow.dport, protocol: flow.proto }
  const originOf: NodeSide['originOf'] = (src) => (src === packet.dst ? 'node' : node.originOf(src))
  const isOffCluster = (src: IpAddress) => originOf(src) !== 'pod'
  const facts = { ...node, originOf, isOffCluster, refusedRange: () => undefined }
  const explanation = explain(table, packet, facts)
  expect(explanation.outcome).toBe(actual.outcome === 'accept' ? 'unhandled' : actual.outcome)
  expect(explanation.backends.length).toBe(actual.endpoints.length)
  if (explanation.masquerade === 'yes') expect(actual.masquerade).not.toContain(false)
  if (explanation.masquerade === 'no') expect(actual.masquerade).not.toContain(true)
  if (explanation.masquerade === 'toItself') expect(actual.masquerade).toContain(true)
}
