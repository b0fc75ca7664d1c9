import { connect, type Socket } from 'node:net'
import type { Clock } from '../../lib/clock.ts'
import { hostPort } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'

/** What became of the connections to a node while it moved. */
export interface ConnectionCounts {
  readonly attempts: number
  readonly failed: number
  readonly held: number
  readonly reset: number
}

/** Connections to node ports of one node. */
export interface NodeProbe {
  /** Connects once to each port, at most once in a period. @returns why the node gets worse */
  look(): Promise<string | undefined>
  counts(): ConnectionCounts
  close(): void
}

/** Opens the first connections to a node; undefined: no node port of it answers. */
export type StartProbe = (node: JsonObject) => Promise<NodeProbe | undefined>

/** The requests to the API server that a probe sends. */
export interface ProbeRequests {
  /** Undefined: there is none. */
  get(path: string): Promise<JsonObject | undefined>
  list(path: string, query?: Readonly<Record<string, string>>): Promise<readonly JsonObject[]>
}

interface ProbeEnvironment {
  readonly requests: ProbeRequests
  readonly clock: Clock
  readonly notice: (line: string) => void
  /** Milliseconds between two rounds. */
  readonly everyMs: number
}

/** A node port of a Service. */
interface Candidate {
  readonly namespace: string
  readonly service: string
  readonly port: number
}

interface Watched extends Candidate {
  readonly socket: Socket
  /** Failures in a row. */
  failures: number
  isReset: boolean
}

const MAX_PORTS = 5
const MAX_CANDIDATES = 20
const MAX_FAILURES = 3
const CONNECT_MS = 2_000
const KEEP_ALIVE_MS = 1_000
const DISCOVERY = '/apis/discovery.k8s.io'

/**
 * Prepares connections to the node ports of Services that have ready endpoints, over TCP, from where the command runs.
 * Services with `externalTrafficPolicy: Local` are left out: whether a node serves them depends on its own Pods.
 */
export function createProbes(environment: ProbeEnvironment): StartProbe {
  const endpoints = new Endpoints(environment.requests)
  let candidates: Promise<readonly Candidate[]> | undefined
  return async (node) => {
    candidates ??= readCandidates(environment.requests, endpoints)
    const host = internalIpOf(node)
    if (host === undefined) return undefined
    const watched: Watched[] = []
    for (const one of await candidates) {
      const opened = await open(host, one.port)
      if ('socket' in opened) watched.push(watchedPort(one, opened.socket))
      if (watched.length === MAX_PORTS) break
    }
    return watched.length === 0
      ? undefined
      : new PortProbe(host, watched, { ...environment, endpoints })
  }
}

class PortProbe implements NodeProbe {
  readonly #host: string
  readonly #all: readonly Watched[]
  readonly #active: Set<Watched>
  readonly #environment: ProbeEnvironment & { readonly endpoints: Endpoints }
  #attempts = 0
  #failed = 0
  #last: number

  constructor(
    host: string,
    all: readonly Watched[],
    environment: ProbeEnvironment & { readonly endpoints: Endpoints },
  ) {
    this.#host = host
    this.#all = all
    this.#active = new Set(all)
    this.#environment = environment
    this.#last = environment.clock.now()
  }

  async look(): Promise<string | undefined> {
    const now = this.#environment.clock.now()
    if (now - this.#last < this.#environment.everyMs) return undefined
    this.#last = now
    const worse = await Promise.all([...this.#active].map((one) => this.#connect(one)))
    return worse.find((one) => one !== undefined)
  }

  counts(): ConnectionCounts {
    const reset = this.#all.filter(({ isReset }) => isReset).length
    return { attempts: this.#attempts, failed: this.#failed, held: this.#all.length, reset }
  }

  close(): void {
    for (const { socket } of this.#all) socket.destroy()
  }

  async #connect(one: Watched): Promise<string | undefined> {
    const opened = await open(this.#host, one.port)
    this.#attempts += 1
    if ('socket' in opened) {
      opened.socket.destroy()
      one.failures = 0
      return undefined
    }
    this.#failed += 1
    one.failures += 1
    if (one.failures < MAX_FAILURES) return undefined
    const { endpoints, notice } = this.#environment
    const { namespace, service, port } = one
    if (!(await endpoints.areReady(one))) {
      this.#active.delete(one)
      notice(`Service ${namespace}/${service} has no ready endpoint any more: not probed`)
      return undefined
    }
    const address = hostPort(this.#host, port)
    return `${MAX_FAILURES} new connections in a row to ${address} of Service ${namespace}/${service} failed: ${opened.reason}`
  }
}

/** TCP probes the other side every second; a host that has lost the connection answers with a reset. */
function watchedPort(one: Candidate, socket: Socket): Watched {
  const watched: Watched = { ...one, socket, failures: 0, isReset: false }
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  socket.on('error', () => {
    watched.isReset = true
  })
  socket.resume()
  return watched
}

function open(host: string, port: number): Promise<{ socket: Socket } | { reason: string }> {
  const { promise, resolve } = Promise.withResolvers<{ socket: Socket } | { reason: string }>()
  const socket = connect({ host, port })
  socket.setTimeout(CONNECT_MS)
  const failed = (reason: string): void => {
    socket.destroy()
    resolve({ reason })
  }
  socket.once('timeout', () => failed(`no answer within ${CONNECT_MS / 1_000} s`))
  socket.once('error', (error: NodeJS.ErrnoException) => failed(error.code ?? error.message))
  socket.once('connect', () => {
    socket.setTimeout(0)
    socket.removeAllListeners('timeout')
    socket.removeAllListeners('error')
    socket.on('error', () => undefined)
    resolve({ socket })
  })
  return promise
}

/** One port of each Service, in the order of their names. */
async function readCandidates(
  requests: ProbeRequests,
  endpoints: Endpoints,
): Promise<readonly Candidate[]> {
  const services = await requests.list('/api/v1/services')
  const found: Candidate[] = []
  for (const service of services) {
    const candidate = candidateOf(service)
    if (candidate === undefined || !(await endpoints.areReady(candidate))) continue
    found.push(candidate)
    if (found.length === MAX_CANDIDATES) break
  }
  return found
}

function candidateOf(service: JsonObject): Candidate | undefined {
  const { metadata, spec } = service
  if (stringAt(spec, 'externalTrafficPolicy') !== 'Cluster') return undefined
  const ports = arrayAt(spec, 'ports').filter(
    (one) => (stringAt(one, 'protocol') || 'TCP') === 'TCP',
  )
  const port = ports.map((one) => Number(valueAt(one, 'nodePort'))).find((one) => one > 0)
  if (port === undefined) return undefined
  return {
    namespace: stringAt(metadata, 'namespace'),
    service: stringAt(metadata, 'name'),
    port,
  }
}

/** The EndpointSlices of Services; servers before 1.21 have those of v1beta1 only. */
class Endpoints {
  readonly #requests: ProbeRequests
  #version: Promise<'v1' | 'v1beta1'> | undefined

  constructor(requests: ProbeRequests) {
    this.#requests = requests
  }

  async areReady({ namespace, service }: Candidate): Promise<boolean> {
    this.#version ??= this.#requests
      .get(`${DISCOVERY}/v1`)
      .then((found) => (found === undefined ? 'v1beta1' : 'v1'))
    const path = `${DISCOVERY}/${await this.#version}/namespaces/${encodeURIComponent(namespace)}/endpointslices`
    const labelSelector = `kubernetes.io/service-name=${service}`
    const slices = await this.#requests.list(path, { labelSelector })
    return slices
      .flatMap((slice) => arrayAt(slice, 'endpoints'))
      .some((endpoint) => valueAt(endpoint, 'conditions', 'ready') !== false)
  }
}

function internalIpOf(node: JsonObject): string | undefined {
  const addresses = arrayAt(node, 'status', 'addresses')
  const found = addresses.find((one) => stringAt(one, 'type') === 'InternalIP')
  return found === undefined ? undefined : stringAt(found, 'address')
}
