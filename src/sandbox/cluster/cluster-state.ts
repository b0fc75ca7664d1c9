import { setTimeout as delay } from 'node:timers/promises'
import type { ApiClient } from '../../client/http/api-client.ts'
import { createReflector } from '../../client/reflector/reflector.ts'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { systemRandom } from '../../lib/random.ts'
import { READY, SERVICE_NAME } from '../../resources/label-names.ts'
import { readCondition } from '../../resources/status-condition.ts'
import { CHANGE_MS } from '../run/run.ts'
import type { ControlPlane } from './control-plane.ts'

const PATHS = {
  pods: '/api/v1/pods',
  services: '/api/v1/services',
  deployments: '/apis/apps/v1/deployments',
  endpointslices: '/apis/discovery.k8s.io/v1/endpointslices',
} as const

export type Followed = keyof typeof PATHS

/** The objects of the cluster as its API server reports them. */
export class ClusterState {
  readonly pods = new Map<string, PodState>()
  readonly services = new Map<string, JsonObject>()
  readonly slices = new Map<string, JsonObject>()
  readonly deployments = new Map<string, JsonObject>()
  /** The newest revision of each collection. */
  readonly seen = new Map<Followed, number>()
  readonly #controlPlane: Pick<ControlPlane, 'api' | 'lastLines'>
  #changed = Promise.withResolvers<void>()

  constructor(controlPlane: Pick<ControlPlane, 'api' | 'lastLines'>) {
    this.#controlPlane = controlPlane
  }

  /** Follows the cluster until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#follow('pods', this.pods, readPod, signal),
      this.#follow('services', this.services, asItIs, signal),
      this.#follow('endpointslices', this.slices, asItIs, signal),
      this.#follow('deployments', this.deployments, asItIs, signal),
    ])
  }

  /** Waits until a condition holds. Throws NP_SANDBOX_CLUSTER when it takes too long. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const over = new AbortController()
    const late = delay(CHANGE_MS, true, { signal: over.signal }).catch(() => false)
    try {
      while (!holds()) {
        const isLate = await Promise.race([this.#changed.promise.then(() => false), late])
        if (isLate) throw tooLong(what, this.#controlPlane.lastLines(15))
      }
    } finally {
      over.abort()
    }
  }

  /** Waits until the endpoints of every Service are exactly the ready pods that it selects. */
  served(): Promise<void> {
    return this.until('the endpoints follow the pods', () => {
      const pods = [...this.pods.values()]
      const slices = [...this.slices.values()].map(readSlice)
      return [...this.services.values()]
        .map(readService)
        .every((service) => isServedBy(service, pods, slices))
    })
  }

  #follow<T>(
    name: Followed,
    into: Map<string, T>,
    read: (object: JsonObject) => T,
    signal: AbortSignal,
  ): Promise<void> {
    const decode = (object: JsonObject): T => {
      const version = Number(stringAt(object, 'metadata', 'resourceVersion'))
      this.seen.set(name, Math.max(version, this.seen.get(name) ?? 0))
      return read(object)
    }
    const onChange = (key: string, value: T | undefined): void => {
      if (value === undefined) into.delete(key)
      else into.set(key, value)
      this.#changed.resolve()
      this.#changed = Promise.withResolvers()
    }
    return follow({ client: this.#controlPlane.api, path: PATHS[name], decode, onChange }, signal)
  }
}

function asItIs(object: JsonObject): JsonObject {
  return object
}

function tooLong(what: string, lines: readonly string[]): NodeProxyError {
  const output = lines.map((line) => `    ${line}`)
  const head = `not yet: ${what} (waited ${CHANGE_MS / 1000} s); last lines of orch-server:`
  return new NodeProxyError('NP_SANDBOX_CLUSTER', [head, ...output].join('\n'))
}

interface FollowOptions<T> {
  readonly client: ApiClient
  /** `/api/v1/services`. */
  readonly path: string
  readonly decode: (object: JsonObject) => T
  /** Called with each change. Keys are `namespace/name`; `value: undefined`: the object was deleted. */
  readonly onChange: (key: string, value: T | undefined) => void
}

/** Follows a collection until `signal` is aborted. */
async function follow<T>(options: FollowOptions<T>, signal: AbortSignal): Promise<void> {
  const { client, path, decode, onChange } = options
  const reflector = createReflector<T, never>({
    client,
    clock: systemClock,
    random: systemRandom,
    resource: { path, query: {} },
    decode: (raw) => ({ ok: true, value: isJsonObject(raw) ? decode(raw) : undefined }),
    onChanges: (changes) => changes.forEach(({ key, value }) => onChange(key, value)),
    onListed: () => undefined,
    onInvalid: () => undefined,
    onLost: () => undefined,
    onFailure: () => undefined,
    onConnected: () => undefined,
  })
  await reflector.run(signal)
}

/** The fields of a Service that decide which endpoints it has, and whether it is complete. */
interface ServiceState {
  readonly name: string
  /** Undefined: the Service has no selector, so a user writes its endpoints. */
  readonly selector: Readonly<Record<string, unknown>> | undefined
  /** Whether it has the addresses that its type requires. */
  readonly hasAddresses: boolean
}

export function readService(service: JsonObject): ServiceState {
  const selector = objectAt(service, 'spec', 'selector')
  const ingress = arrayAt(service, 'status', 'loadBalancer', 'ingress')
  return {
    name: stringAt(service, 'metadata', 'name'),
    selector: Object.keys(selector).length === 0 ? undefined : selector,
    hasAddresses: stringAt(service, 'spec', 'type') !== 'LoadBalancer' || ingress.length > 0,
  }
}

/** Whether the endpoints of a Service are those of its pods. */
export function isServedBy(
  { name, selector, hasAddresses }: ServiceState,
  pods: readonly PodState[],
  slices: readonly SliceState[],
): boolean {
  if (!hasAddresses) return false
  if (selector === undefined) return true
  const wanted = Object.entries(selector)
  const serving = pods.filter(
    ({ ready, leaving, labels }) =>
      ready && !leaving && wanted.every(([key, value]) => labels[key] === value),
  )
  const published = slices.filter(({ service }) => service === name).flatMap(({ ready }) => ready)
  return (
    serving
      .map((pod) => pod.name)
      .toSorted()
      .join() === published.toSorted().join()
  )
}

/** One pod as the cluster sees it. */
export interface PodState {
  /** `pod-1`. */
  readonly name: string
  readonly uid: string
  /** Empty until it has one. */
  readonly ip: string
  readonly labels: Readonly<Record<string, unknown>>
  readonly ready: boolean
  /** Whether it was deleted and is about to end. */
  readonly leaving: boolean
  /** The process id of its server while that runs. */
  readonly pid: number | undefined
}

/** The container id that the node agent gives a process. */
const PROCESS = /^process:\/\/(\d+)$/

export function readPod(pod: JsonObject): PodState {
  const [container] = arrayAt(pod, 'status', 'containerStatuses')
  const isRunning = Object.hasOwn(objectAt(container, 'state'), 'running')
  const pid = PROCESS.exec(stringAt(container, 'containerID'))?.[1]
  return {
    name: stringAt(pod, 'metadata', 'name'),
    uid: stringAt(pod, 'metadata', 'uid'),
    ip: stringAt(pod, 'status', 'podIP'),
    labels: objectAt(pod, 'metadata', 'labels'),
    ready: readCondition(objectAt(pod, 'status'), READY).status === 'True',
    leaving: stringAt(pod, 'metadata', 'deletionTimestamp') !== '',
    pid: isRunning && pid !== undefined ? Number(pid) : undefined,
  }
}

/** The state of a pod that does not exist. */
export function absentPod(name: string): PodState {
  const [uid, ip, labels, pid] = ['', '', {}, undefined]
  return { name, uid, ip, labels, ready: false, leaving: false, pid }
}

/** The content of one EndpointSlice: the ready endpoints by the name of their pod, else by address. */
export interface SliceState {
  readonly service: string
  readonly ready: readonly string[]
  readonly notReady: readonly string[]
}

export function readSlice(slice: JsonObject): SliceState {
  const endpoints = arrayAt(slice, 'endpoints').map((endpoint) => ({
    ready: valueAt(endpoint, 'conditions', 'ready') !== false,
    name: stringAt(endpoint, 'targetRef', 'name') || nameOf(endpoint),
  }))
  return {
    service: stringAt(slice, 'metadata', 'labels', SERVICE_NAME),
    ready: endpoints.filter(({ ready }) => ready).map(({ name }) => name),
    notReady: endpoints.filter(({ ready }) => !ready).map(({ name }) => name),
  }
}

function nameOf(endpoint: Parameters<typeof stringAt>[0]): string {
  const [address] = arrayAt(endpoint, 'addresses')
  const node = stringAt(endpoint, 'nodeName')
  return `${scalarText(address)}${node === '' ? '' : ` on ${node}`}`
}
