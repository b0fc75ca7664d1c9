import { setTimeout as delay } from 'node:timers/promises'
import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import type { ConnectOutcome, Transport } from '../agent/protocol.ts'
import { disagreements } from '../explain/agreement.ts'
import { predicted } from '../explain/compare.ts'
import { desiredDifferences } from '../explain/desired.ts'
import { type LabPacket, predict } from '../explain/predict.ts'
import type { ProxyConfig } from '../lab/daemon-config.ts'
import type { Attempt, Lab, LabHost } from '../lab/lab.ts'
import type { ApiObject } from '../lab/objects.ts'
import { NODE_NAME } from '../lab/plan.ts'
import { applyChange } from './change.ts'
import { type Expectation, judge } from './judge.ts'
import type { LabConfig, LabFlow, LabStep, Sender } from './lab-flow.ts'

/** The state of a replay between two flows of a configuration. */
export interface Memory {
  /** The last endpoint that answered a sticky client, by client and destination. */
  readonly affine: Map<string, string>
  readonly removed: Set<string>
  /** Whether the node's kernel has not changed since the last prediction. */
  isUnchanged: boolean
}

export function newMemory(): Memory {
  return { affine: new Map(), removed: new Set(), isUnchanged: false }
}

/** The configuration of the daemon for a flow configuration. */
export function proxyConfigOf(config: LabConfig): ProxyConfig {
  const { nodePortAddresses, localhostNodePorts = true, masqueradeAll = false } = config.proxy ?? {}
  return {
    clusterCIDR: '10.0.0.0/8,fd00:10::/64',
    detectLocalMode: 'ClusterCIDR',
    ...(nodePortAddresses === undefined || nodePortAddresses === null ? {} : { nodePortAddresses }),
    iptables: { masqueradeAll, localhostNodePorts },
  }
}

/** Writes the objects of the configuration, starts its endpoints, and waits for the daemon. */
export async function setUp(lab: Lab, config: LabConfig): Promise<void> {
  await lab.reset()
  const locals = new Set(config.steps.flatMap(({ flows }) => flows.flatMap(localSender)))
  for (const slice of config.endpointSlices) {
    for (const endpoint of slice.endpoints) {
      const ip = endpoint.addresses[0] ?? ''
      const local = endpoint.nodeName === NODE_NAME || locals.has(ip)
      await lab.serve({ ip, local, ports: slice.ports })
    }
  }
  await serveReplacements(lab, config)
  await lab.api.apply(...config.services.map((object) => typed('Service', object)))
  await lab.api.apply(...config.endpointSlices.map((object) => typed('EndpointSlice', object)))
  await lab.daemon.synced()
}

/** Addresses that send as pods live on this node, whatever their `nodeName`. */
function localSender({ from, src }: LabFlow): string[] {
  return from === 'pod' || from === 'endpoint' ? [src] : []
}

async function serveReplacements(lab: Lab, config: LabConfig): Promise<void> {
  for (const { change } of config.steps) {
    for (const ip of Object.values(change?.replaceEndpoints ?? {}).flat()) {
      const ports = config.endpointSlices[0]?.ports ?? []
      await lab.serve({ ip, local: false, ports })
    }
  }
}

export async function takeStep(lab: Lab, step: LabStep, memory: Memory): Promise<void> {
  if (step.change === undefined) return
  memory.isUnchanged = false
  const flow = step.flows[0]
  const affine = flow && memory.affine.get(clientOf(flow))
  await applyChange(step.change, { api: lab.api, affine })
  if (step.change.deleteEndpointOf !== undefined && affine !== undefined) memory.removed.add(affine)
  await lab.daemon.synced()
}

/** Sends the packets of a flow. @returns what is wrong with the outcomes */
export async function runFlow(lab: Lab, flow: LabFlow, memory: Memory): Promise<string[]> {
  const deadline = performance.now() + (flow.retrySeconds ?? 0) * 1000
  for (;;) {
    const faults = await tryFlow(lab, flow, memory)
    if (faults.length === 0 || performance.now() >= deadline) return faults
    memory.isUnchanged = false
    await delay(100)
  }
}

async function tryFlow(lab: Lab, flow: LabFlow, memory: Memory): Promise<string[]> {
  if (flow.expect.outcome === 'accept') return checkHttp(lab, flow, memory)
  const endpoints = endpointsOf(flow, memory)
  const expected: Expectation = {
    ...flow.expect,
    endpoints,
    source: flow.src,
    nodeAddresses: await lab.nodeAddresses(),
    ...(flow.sticky === undefined ? {} : { distinct: flow.sticky.distinct }),
  }
  const { outcomes, prediction, differences } = await send(lab, flow, { endpoints, memory })
  return [
    ...judge(expected, outcomes),
    ...differences.map((one) => `explain says of an unchanged kernel: ${one}`),
    ...disagreements({ ...predictionOf(flow), prediction }, outcomes),
    ...remember(flow, outcomes, memory),
  ]
}

/**
 * Whether every predicted outcome must happen: not with too few connections, or with a client that stays with one
 * backend.
 */
function predictionOf(flow: LabFlow) {
  const isExhaustive = flow.sticky === undefined && flow.fixedSourcePort === undefined
  return { dst: flow.dst, port: flow.dport, isExhaustive }
}

/** The predictions for a flow, and the outcomes of its packets. */
interface Sent {
  readonly outcomes: readonly ConnectOutcome[]
  readonly prediction: readonly WalkOutcome[]
  /** How what node-proxy wants differs from the prediction. */
  readonly differences: readonly string[]
}

async function send(
  lab: Lab,
  flow: LabFlow,
  { endpoints, memory }: { readonly endpoints: readonly string[]; readonly memory: Memory },
): Promise<Sent> {
  const bound = flow.from === 'node-lb-ip' ? [`addr add ${flow.src}/32 dev lo`] : []
  await lab.node.namespace.ip(bound)
  try {
    const packet = packetOf(flow)
    const { from } = packet
    await lab.site(from, flow.src)
    const prediction = await predictOf(lab, flow, memory)
    const differences = await desiredDifferences(lab, packet, prediction)
    const outcomes = await lab.connect(from, attemptOf(flow, endpoints.length))
    return { prediction, differences, outcomes }
  } finally {
    await lab.node.namespace.ip(bound.map((line) => line.replace('addr add', 'addr del')))
  }
}

/**
 * Predicts a flow. Reads the kernel again if an address exists only for one packet, or if affinity binds the client.
 */
async function predictOf(lab: Lab, flow: LabFlow, memory: Memory) {
  const changes = flow.sticky !== undefined || flow.from === 'node-lb-ip'
  const isUnchanged = memory.isUnchanged && !changes
  memory.isUnchanged = !changes
  return await predict(lab, packetOf(flow), { isUnchanged })
}

function packetOf({ from, src, dst, dport: port, proto: protocol }: LabFlow): LabPacket {
  return { from: placeOf(from), src, dst, port, protocol }
}

/**
 * At least ten connections, because with one connection a fault of the distribution may not show; up to forty per
 * endpoint until all endpoints were seen (the probability of missing one of four is then 1 in 10^20).
 */
function attemptOf(flow: LabFlow, endpoints: number): Attempt & { protocol: Transport } {
  const deliver = flow.expect.outcome === 'deliver'
  return {
    protocol: flow.proto,
    source: flow.src,
    destination: flow.dst,
    port: flow.dport,
    timeoutMs: deliver ? 3000 : 800,
    ...countOf(flow, endpoints),
  }
}

function countOf(flow: LabFlow, endpoints: number): Partial<Attempt> {
  if (flow.sticky !== undefined) return { attempts: flow.sticky.connections }
  if (flow.fixedSourcePort !== undefined) return { attempts: 1, sourcePort: flow.fixedSourcePort }
  if (flow.expect.outcome !== 'deliver') return { attempts: 3 }
  return endpoints > 1 ? { attempts: 40 * endpoints, parallel: 16 } : { attempts: 10 }
}

function endpointsOf(flow: LabFlow, { removed }: Memory): readonly string[] {
  const listed = flow.expect.endpoints ?? []
  const all = listed === 'remaining' ? ['10.180.0.1:80', '10.180.0.2:80', '10.180.0.3:80'] : listed
  return all.filter((name) => flow.sticky?.notPrevious === true || !removed.has(name))
}

function remember(
  flow: LabFlow,
  outcomes: readonly ConnectOutcome[],
  { affine }: Memory,
): string[] {
  const answer = outcomes.find((outcome) => outcome.kind === 'answered')
  if (flow.sticky === undefined || answer?.kind !== 'answered') return []
  const previous = affine.get(clientOf(flow))
  affine.set(clientOf(flow), answer.name)
  const again = flow.sticky.notPrevious === true && previous === answer.name
  return again ? [`still sent to ${answer.name}`] : []
}

function clientOf({ src, dst, dport }: LabFlow): string {
  return `${src} > ${dst} ${dport}`
}

/** Checks a flow to the health check of a Service, which the daemon on the node answers. */
async function checkHttp(lab: Lab, flow: LabFlow, memory: Memory): Promise<string[]> {
  const packet = packetOf(flow)
  const { agent } = await lab.site(packet.from, flow.src)
  const prediction = await predictOf(lab, flow, memory)
  const differences = await desiredDifferences(lab, packet, prediction)
  const reply = await agent.call('http', { url: `http://${flow.dst}:${flow.dport}/` })
  return [
    ...differences.map((one) => `explain says of an unchanged kernel: ${one}`),
    ...prediction
      .filter((one) => one.kind !== 'delivered' || one.to !== 'local')
      .map((one) => `explain predicted: ${predicted(one)}`),
    ...replyFaults(flow.http, reply),
  ]
}

function replyFaults(
  wanted: LabFlow['http'],
  reply: { readonly status: number; readonly body: string },
): string[] {
  if (wanted === undefined) return []
  const faults = reply.status === wanted.status ? [] : [`status ${reply.status}`]
  const said: unknown = JSON.parse(reply.body)
  return contains(said, wanted.body) ? faults : [...faults, `body ${reply.body}`]
}

function contains(value: unknown, part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return value === part
  if (typeof value !== 'object' || value === null) return false
  const fields = new Map(Object.entries(value))
  return Object.entries(part).every(([name, wanted]) => contains(fields.get(name), wanted))
}

function placeOf(from: Sender): LabHost {
  if (from === 'pod' || from === 'endpoint') return 'pod'
  return from === 'external' || from === 'externalBlocked' ? 'outside' : 'node'
}

function typed(kind: 'Service' | 'EndpointSlice', object: object): ApiObject {
  const apiVersion = kind === 'Service' ? 'v1' : 'discovery.k8s.io/v1'
  return { apiVersion, kind, ...object } as ApiObject
}
