import { type ClusterEvent, ClusterStore } from '../../cluster/cluster-store.ts'
import type { StaleFlows } from '../../forwarding/entry.ts'
import type { NodeContext } from '../../forwarding/node-context.ts'
import { ForwardingTable } from '../../forwarding/table.ts'
import {
  endpoint,
  ip,
  nodeContext,
  service,
  serviceKey,
  slice,
} from '../../forwarding/testing/fixtures.ts'
import { messageOf } from '../../lib/error.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { DeltaTracker } from '../delta-tracker.ts'
import { NodeModel } from '../node-model.ts'
import { SyncLoop, type SyncObserver } from '../sync-loop.ts'
import { objectKey, ScriptedMode } from './scripted-mode.ts'

/** What the loop reported to its observer, for tests to compare. */
export interface Reported {
  readonly queued: number[]
  readonly applied: string[]
  readonly drifted: string[]
  readonly normalised: string[]
  readonly failed: string[]
  readonly flowsCut: number[]
  readonly flowsFailed: string[]
}

interface RigOptions {
  readonly minPeriodMs?: number
  readonly verifyPeriodMs?: number
  /** Wraps the observer, to see what the loop reports. */
  readonly observe?: (observer: SyncObserver, clock: FakeClock) => SyncObserver
}

/** A loop with a real model, a scripted mode and a clock that tests move. */
export function rig({ observe = (observer) => observer, ...options }: RigOptions = {}) {
  const mode = new ScriptedMode()
  const clock = new FakeClock()
  const tracker = new DeltaTracker()
  const reported: Reported = {
    queued: [],
    applied: [],
    drifted: [],
    normalised: [],
    failed: [],
    flowsCut: [],
    flowsFailed: [],
  }
  const flows: (readonly StaleFlows[])[] = []
  const cutErrors: Error[] = []
  const world = { node: nodeContext() }
  const cut = { during: () => {} }
  const loop = new SyncLoop({
    mode,
    clock,
    wallClock: clock,
    tracker,
    model: new NodeModel({
      store: new ClusterStore(),
      table: new ForwardingTable(world.node),
      program: mode.program,
      nodeContext: (): NodeContext => world.node,
    }),
    observer: observe(recorder(reported), clock),
    cutFlows: async (some) => {
      const error = cutErrors.shift()
      if (error) throw error
      cut.during()
      flows.push(some)
      return some.length
    },
    minPeriodMs: options.minPeriodMs ?? 1_000,
    verifyPeriodMs: options.verifyPeriodMs ?? 30_000,
  })
  return { loop, mode, clock, tracker, reported, flows, cut, cutErrors, world }
}

function recorder(reported: Reported): SyncObserver {
  return {
    queued: (at) => reported.queued.push(at),
    compiled: () => {},
    begun: () => {},
    applied: ({ change, failed }) =>
      reported.applied.push(`+${change.set.length} -${change.unset.length} !${failed.size}`),
    drifted: (drift, by) =>
      reported.drifted.push(...drift.map(({ key, kind }) => `${by}: ${kind} ${key}`)),
    normalised: (keys) => reported.normalised.push(...keys),
    failed: (error) => reported.failed.push(messageOf(error)),
    flowsCut: (count) => reported.flowsCut.push(count),
    flowsFailed: (error) => reported.flowsFailed.push(error instanceof Error ? error.message : ''),
  }
}

/** A Service with one TCP port and one endpoint: one entry, one object. */
export function serviceEvents(name: string, address = '10.0.0.1'): readonly ClusterEvent[] {
  const number = Number(name.replace(/\D/g, '')) + 1
  const key = serviceKey(`ns/${name}`)
  const source = { name: `ns/${name}-1`, service: key }
  return [
    { kind: 'service', key, value: service({ key, clusterIPs: [ip(`172.30.1.${number}`)] }) },
    { kind: 'endpoints', name: source.name, value: slice([endpoint(address)], source) },
  ]
}

/** The endpoints of such a Service, replaced. */
export function endpointsEvent(name: string, ...addresses: readonly string[]): ClusterEvent {
  const source = { name: `ns/${name}-1`, service: serviceKey(`ns/${name}`) }
  const value = slice(
    addresses.map((address) => endpoint(address)),
    source,
  )
  return { kind: 'endpoints', name: source.name, value }
}

/** The object of such a Service. */
export function objectOf(name: string) {
  return objectKey(`ns/${name}:http/TCP/4`)
}
