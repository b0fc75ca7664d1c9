import { PODS } from '../network/plan.ts'
import type { ClusterState } from './cluster-state.ts'
import { PUBLIC, podManifest } from './pod-manifest.ts'
import { absentPod, type PodState } from './pod-state.ts'
import type { Writer } from './writer.ts'

/** The three pods of the node, as an operator with kubectl and a shell handles them. */
export class Pods {
  readonly #state: ClusterState
  readonly #writer: Writer

  constructor(state: ClusterState, writer: Writer) {
    this.#state = state
    this.#writer = writer
  }

  states(): readonly PodState[] {
    return PODS.map((name) => this.state(name))
  }

  state(name: string): PodState {
    return this.#state.pods.get(`default/${name}`) ?? absentPod(name)
  }

  /** Puts a new pod where a dead one is, or none; resolves when it is ready. */
  async start(name: string): Promise<void> {
    if (this.state(name).uid !== '') await this.#writer.removePod(name)
    await this.#writer.create(podManifest(name))
    await this.#state.until(`${name} is ready`, () => this.state(name).ready)
  }

  /** Signals the process of a pod; resolves when the cluster has noticed its end. */
  async signal(name: string, signal: NodeJS.Signals): Promise<void> {
    const { pid } = this.state(name)
    if (pid === undefined) return
    process.kill(pid, signal)
    const hasEnded = (): boolean => this.state(name).pid !== pid && !this.state(name).ready
    await this.#state.until(`the process of ${name} has ended`, hasEnded)
  }

  /** Uses only so many of the pods for web-public. */
  async scale(replicas: number): Promise<void> {
    for (const [index, { name, uid }] of this.states().entries()) {
      const labels = { [PUBLIC]: index < replicas ? 'yes' : null }
      if (uid !== '') await this.#writer.patch('Pod', name, { metadata: { labels } })
    }
  }
}
