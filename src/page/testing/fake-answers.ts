import type { ExplanationDocument, OutcomeDocument } from '../../inspection/answers.ts'
import type { ChangeJson, StatusResponseJson } from '../../inspection/generated/inspection_pb.ts'
import type { EntryMessage, ServiceMessage, ServiceTrafficMessage } from '../files/data/node-api.ts'

const NAMESPACES = ['shop', 'billing', 'search', 'media', 'identity', 'metrics']
const NAMES = ['web', 'api', 'cart', 'users', 'orders', 'cache', 'mail', 'queue']
const STARTED_AT = Date.now() - 3 * 86_400_000 - 5 * 3_600_000

/** What the node of a picture would answer: every 997th Service is in conflict, every 1409th waits. */
export function serviceOf(index: number): ServiceMessage {
  const [namespace, name] = [NAMESPACES[index % 6], NAMES[Math.floor(index / 6) % 8]]
  const number = Math.floor(index / 48)
  const service = `${namespace}/${name}${number === 0 ? '' : `-${number}`}`
  const backends = backendCount(index)
  if (index % 997 === 3) {
    const problem = { code: 'NP_FORWARDING_CONFLICT', message: conflictOf(index) }
    return { service, entries: 1, backends, status: 'Conflict', problem }
  }
  return { service, entries: 1, backends, status: index % 1_409 === 20 ? 'Pending' : 'Done' }
}

export function statusOf(services: number): StatusResponseJson {
  const indexes = Array.from({ length: services }, (_, index) => index)
  return {
    version: '0.1.0',
    nodeName: 'node-7',
    mode: 'ipvs',
    startedAt: `${STARTED_AT}`,
    isReady: true,
    driftRepaired: '2',
    services,
    entries: services,
    backends: indexes.reduce((sum, index) => sum + backendCount(index), 0),
    residentMemory: `${143 * 2 ** 20}`,
    programming: { count: 600, p50Ms: 58, p99Ms: 221 },
    problems: indexes
      .filter((index) => index % 997 === 3)
      .slice(0, 4)
      .map((index) => ({
        entry: `${serviceOf(index).service}:http/TCP/4`,
        code: 'NP_FORWARDING_CONFLICT',
        message: conflictOf(index),
      })),
  }
}

export function entriesOf(index: number, service: string): readonly EntryMessage[] {
  const backends = Array.from({ length: backendCount(index) }, (_, backend) => ({
    ip: backendIp(index, backend),
    port: 8_080,
    weight: 1,
    isLocal: backend === 0,
    inClusterPool: true,
    inLocalPool: backend === 0,
  }))
  const entry: EntryMessage = {
    id: `${service}:http/TCP/4`,
    service,
    protocol: 'TCP',
    family: 4,
    backends,
    frontends: [
      { kind: 'clusterIP', ip: clusterIp(index), port: 80, pool: 'cluster', admitsAll: true },
      { kind: 'nodePort', ip: 'node', port: 30_080, pool: 'cluster', admitsAll: true },
    ],
    status: serviceOf(index).status ?? 'Done',
  }
  return [entry]
}

/** Counters rise with time, so that two readings give a rate. */
export function trafficOf(index: number, service: string, now: number): ServiceTrafficMessage {
  const seconds = (now - STARTED_AT) / 1_000
  const rate = index % 5 === 4 ? 0 : ((1 + ((index * 7_919 + 600) % 911)) / 30) ** 1.5
  const backends = Array.from({ length: backendCount(index) }, (_, backend) => {
    const share = (1 + ((backend * 31 + index) % 7) / 40) / backendCount(index)
    return {
      entry: `${service}:http/TCP/4`,
      ip: backendIp(index, backend),
      port: 8_080,
      traffic: countsOf(rate * share * seconds),
    }
  })
  return { service, total: countsOf(rate * seconds), backends }
}

function countsOf(connections: number) {
  const count = Math.floor(connections)
  return {
    connections: `${count}`,
    packetsIn: `${count * 6}`,
    bytesIn: `${count * 1_430}`,
    packetsOut: `${count * 5}`,
    bytesOut: `${count * 9_100}`,
  }
}

export function changeOf(service: string, at: number, latencyMs: number): ChangeJson {
  const appliedAt = Math.round(at)
  return {
    service,
    appliedAt: `${appliedAt}`,
    compiledAt: `${Math.round(appliedAt - latencyMs)}`,
    ...(latencyMs > 225 ? { hasFailures: true } : {}),
    objects: 4,
  }
}

export function explanationOf(query: URLSearchParams): ExplanationDocument {
  const dst = (query.get('destination') ?? '').split(':')[0] ?? ''
  const source = query.get('source') ?? 'node'
  const backends = Array.from({ length: backendCount(0) }, (_, backend) => backendIp(0, backend))
  return {
    src: source === 'node' ? null : source,
    dst,
    port: 80,
    protocol: 'TCP',
    inInterface: null,
    desired: {
      outcome: 'deliver',
      entry: 'shop/web:http/TCP/4',
      mode: 'ipvs',
      backends: backends.map((ip) => ({ ip, port: 8_080, weight: 1 })),
      reasons: ['the cluster IP of shop/web takes every endpoint that is ready'],
      pool: {
        reasons: ['ready endpoints of the whole cluster, without topology hints'],
        leftOut: [{ ip: '10.244.9.9', port: 8_080, text: 'not ready' }],
        leftOutCount: 1,
      },
    },
    observed: backends.map((ip) => outcomeOf(dst, ip, 1 / backends.length)),
    differences: [],
  }
}

function outcomeOf(dst: string, ip: string, probability: number): OutcomeDocument {
  return {
    kind: 'delivered',
    probability,
    to: 'forwarded',
    src: '10.0.0.2',
    dst: { ip, port: 8_080 },
    outInterface: 'eth0',
    steps: [
      { where: 'route', text: `to ${dst} by eth0 via 10.0.0.1` },
      {
        where: 'ipvs',
        object: `4/tcp/${dst}:80 rr`,
        text: `real server ${ip}:8080, weight 1`,
        counter: { packets: '48211', bytes: '2892660' },
      },
      { where: 'route', text: `to ${ip} by eth0` },
    ],
  }
}

function backendCount(index: number): number {
  return index % 211 === 13 ? 0 : 1 + ((index * 13 + 3) % 7)
}

function backendIp(index: number, backend: number): string {
  return `10.244.${(index + backend * 3) % 250}.${1 + ((index + backend) % 250)}`
}

function clusterIp(index: number): string {
  return `10.96.${Math.floor(index / 250) % 256}.${1 + (index % 250)}`
}

function conflictOf(index: number): string {
  return `externalIP 203.0.113.9 port 80 (TCP) belongs to ${serviceOf(index + 6).service}, which is older; choose another address`
}
