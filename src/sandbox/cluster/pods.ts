import type { JsonObject } from '../../lib/json.ts'
import { type Agent, startAgent } from '../agent/agent.ts'
import type { Namespace } from '../network/namespace.ts'
import { NODE_NAME, PODS, type PodPlan } from '../network/plan.ts'
import type { PodState } from './pod-state.ts'
import type { Writer } from './writer.ts'

/** Where the pods' servers listen. */
export const POD_PORT = 8080

const LABELS = { app: 'web' }

export interface PodsOptions {
  readonly namespaces: ReadonlyMap<string, Namespace>
  readonly writer: Writer
  /** A server started or ended. */
  readonly onChange: () => void
  readonly onError: (error: unknown) => void
}

/**
 * The pods of the node and, in one, what a kubelet does: starts their servers,
 * notices when one ends (whoever killed it) and says so in the pod's status.
 */
export class Pods {
  readonly #options: PodsOptions
  readonly #running = new Map<string, Agent>()
  readonly #restarts = new Map<string, number>()
  #closed = false

  constructor(options: PodsOptions) {
    this.#options = options
  }

  /** Creates the Pod objects and starts every server. */
  async open(): Promise<void> {
    await Promise.all(PODS.map((plan) => this.#options.writer.create(podObject(plan))))
    await Promise.all(PODS.map(({ name }) => this.start(name)))
  }

  /** Starts a server that does not run; resolves once it listens. */
  async start(name: string): Promise<void> {
    const plan = PODS.find((candidate) => candidate.name === name)
    const namespace = this.#options.namespaces.get(name)
    if (plan === undefined || namespace === undefined || this.#running.has(name)) return
    const agent = await startAgent(namespace, { name, ip: plan.ip, port: POD_PORT })
    this.#restarts.set(name, (this.#restarts.get(name) ?? -1) + 1)
    this.#running.set(name, agent)
    void agent.ended.then(() => {
      this.#running.delete(name)
      this.#changed(name)
    })
    this.#changed(name)
  }

  /** Ends a server the hard way; resolves once that was noticed. */
  async kill(name: string): Promise<void> {
    const agent = this.#running.get(name)
    await agent?.kill()
    await agent?.ended
  }

  /** Ends all servers without telling anybody. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#running.values()].map((agent) => agent.kill()))
  }

  agent(name: string): Agent | undefined {
    return this.#running.get(name)
  }

  states(): readonly PodState[] {
    return PODS.map(({ name, ip }) => ({
      name,
      ip,
      labels: LABELS,
      ready: this.#running.has(name),
      pid: this.#running.get(name)?.pid,
      restarts: Math.max(0, this.#restarts.get(name) ?? 0),
    }))
  }

  #changed(name: string): void {
    const { writer, onChange, onError } = this.#options
    if (this.#closed) return
    onChange()
    const pod = this.states().find((state) => state.name === name)
    if (pod !== undefined) {
      void writer.patch('Pod', `${name}/status`, { status: statusOf(pod) }).catch(onError)
    }
  }
}

function podObject({ name }: PodPlan): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: LABELS },
    spec: {
      nodeName: NODE_NAME,
      containers: [{ name: 'web', image: 'sandbox', ports: [{ containerPort: POD_PORT }] }],
    },
  }
}

function statusOf({ ip, ready, restarts }: PodState): JsonObject {
  const state = ready ? { running: {} } : { terminated: { reason: 'Error', exitCode: 137 } }
  return {
    phase: 'Running',
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    containerStatuses: [{ name: 'web', ready, restartCount: restarts, state }],
  }
}
