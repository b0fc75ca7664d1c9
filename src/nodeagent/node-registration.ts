import type { ApiClient } from '../client/http/api-client.ts'
import type { RequestReporter } from '../client/http/api-failures.ts'
import type { ApiResult } from '../client/http/failure.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { isJsonObject, type JsonObject } from '../lib/json.ts'
import { READY } from '../resources/label-names.ts'
import { NODE_LEASES } from '../resources/names.ts'
import { readCondition, setCondition, type WantedCondition } from '../resources/status-condition.ts'
import { type NodeIdentity, nodeObject, nodeStatus } from './node-object.ts'

const DURATION_SECONDS = 40

export interface RegistrationOptions {
  readonly client: Pick<ApiClient, 'create' | 'get' | 'patch'>
  readonly clock: Clock
  readonly node: NodeIdentity
  readonly reporter: RequestReporter
}

const RENEW_MS = 10_000
const STATUS_MS = 60_000
const STRATEGIC = 'application/strategic-merge-patch+json'
const NODES = '/api/v1/nodes'
const NAMESPACES = '/api/v1/namespaces'
const HEARTBEAT = { verb: 'patch', resource: 'nodes' } as const
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NODE_LEASES}/leases`

const RUNNING: WantedCondition = {
  type: READY,
  status: 'True',
  reason: 'NodeAgentReady',
  message: 'The node agent runs Pods.',
}

const STOPPED: WantedCondition = {
  type: READY,
  status: 'False',
  reason: 'NodeAgentStopped',
  message: 'The node agent has ended its Pods.',
}

/**
 * Maintains the Node and its Lease: creates them, renews the Lease every ten seconds and the status every
 * minute, and recreates them if they are deleted.
 */
export class Registration {
  readonly #options: RegistrationOptions
  #statusAt = Number.NEGATIVE_INFINITY

  constructor(options: RegistrationOptions) {
    this.#options = options
  }

  /** Registers the node; resolves once it is ready, or `signal` is aborted. */
  async open(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.#beat())) {
      await sleep(this.#options.clock, 1_000, signal)
    }
  }

  /** Sends heartbeats until `signal` is aborted; `onRenewed` is called when the server has accepted one. */
  async run(signal: AbortSignal, onRenewed: () => void): Promise<void> {
    const { clock } = this.#options
    for (;;) {
      await sleep(clock, RENEW_MS, signal)
      if (signal.aborted) return
      await this.#beat(onRenewed)
    }
  }

  /** Reports that the node no longer runs Pods. */
  async close(): Promise<void> {
    await this.#writeStatus(STOPPED)
  }

  async #beat(onRenewed?: () => void): Promise<boolean> {
    const renewed = await this.#renew()
    if (renewed.ok) onRenewed?.()
    const status = renewed.ok ? await this.#refresh() : renewed
    const { reporter } = this.#options
    if (status.ok) reporter.succeeded(HEARTBEAT.resource)
    else reporter.failed(HEARTBEAT, status.failure)
    return status.ok
  }

  async #renew(): Promise<ApiResult<unknown>> {
    const { client, clock, node } = this.#options
    const path = `${LEASES}/${node.nodeName}`
    const body = renewal(node.nodeName, clock.now())
    const renewed = await client.patch(path, body, { type: 'application/merge-patch+json' })
    if (renewed.ok || renewed.failure.code !== 404) return renewed
    const made = await client.create(LEASES, lease(node.nodeName, clock.now()))
    if (made.ok || made.failure.code !== 404) return made
    const metadata = { name: NODE_LEASES }
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata }
    const space = await client.create(NAMESPACES, namespace)
    return space.ok ? client.create(LEASES, lease(node.nodeName, clock.now())) : space
  }

  async #refresh(): Promise<ApiResult<unknown>> {
    const { clock } = this.#options
    const now = clock.now()
    if (now - this.#statusAt < STATUS_MS) return { ok: true, value: undefined }
    const written = await this.#writeStatus(RUNNING)
    if (written.ok) this.#statusAt = now
    return written
  }

  async #writeStatus(wanted: WantedCondition): Promise<ApiResult<unknown>> {
    const { client, clock, node } = this.#options
    const found = await this.#find()
    if (!found.ok) return found
    const status = isJsonObject(found.value) ? found.value['status'] : undefined
    const now = clock.now()
    const ready = setCondition(readCondition(status, wanted.type), wanted, now)
    const body = { status: nodeStatus(node, ready, now) }
    return client.patch(`${NODES}/${node.nodeName}/status`, body, { type: STRATEGIC })
  }

  /** The Node as stored: the node lifecycle controller may have changed its readiness since. */
  async #find(): Promise<ApiResult<unknown>> {
    const { client, node } = this.#options
    if (this.#statusAt === Number.NEGATIVE_INFINITY) return this.#make()
    const found = await client.get(`${NODES}/${node.nodeName}`)
    return found.ok || found.failure.code !== 404 ? found : this.#make()
  }

  /** Creates the Node, or sets labels and networks of an existing one. */
  async #make(): Promise<ApiResult<unknown>> {
    const { client, node } = this.#options
    const object = nodeObject(node)
    const path = `${NODES}/${node.nodeName}`
    const patched = await client.patch(path, object, { type: STRATEGIC })
    return patched.ok || patched.failure.code !== 404 ? patched : client.create(NODES, object)
  }
}

/** A node's Lease, new. */
function lease(nodeName: string, now: number): JsonObject {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: nodeName, namespace: NODE_LEASES },
    ...renewal(nodeName, now),
  }
}

/** The change of the Lease by a heartbeat. */
function renewal(nodeName: string, now: number): JsonObject {
  const renewTime = new Date(now).toISOString().replace('Z', '000Z')
  return {
    spec: { holderIdentity: nodeName, leaseDurationSeconds: DURATION_SECONDS, renewTime },
  }
}
