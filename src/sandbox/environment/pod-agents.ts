import { type Agent, startAgent } from '../agent/agent.ts'
import type { Pods } from '../cluster/pods.ts'
import { namespaceNamed } from '../network/namespace.ts'
import { podNamespace } from '../run/run.ts'

/**
 * The agents that ask on behalf of pods, each started when it is first needed:
 * a pod that was replaced has another namespace, and needs another one.
 */
export class PodAgents {
  readonly #run: string
  readonly #pods: Pods
  readonly #agents = new Map<string, Promise<Agent>>()

  constructor(run: string, pods: Pods) {
    this.#run = run
    this.#pods = pods
  }

  async of(pod: string): Promise<Agent | undefined> {
    const { uid, ip } = this.#pods.state(pod)
    if (ip === '') return undefined
    const agent = this.#agents.get(uid) ?? startAgent(namespaceNamed(podNamespace(this.#run, pod)))
    this.#agents.set(uid, agent)
    return agent.catch(() => void this.#agents.delete(uid))
  }

  async close(): Promise<void> {
    const kill = async (starting: Promise<Agent>): Promise<void> => (await starting).kill()
    await Promise.allSettled([...this.#agents.values()].map(kill))
  }
}
