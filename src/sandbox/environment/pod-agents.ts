import { type Agent, type AgentPlace, startAgent } from '../agent/agent.ts'
import type { PodState } from '../cluster/pod-state.ts'
import type { Pods } from '../cluster/pods.ts'

/**
 * The agents that send requests on behalf of pods, each started when it is first needed:
 * a pod that was replaced has another namespace, and needs another one.
 */
export class PodAgents {
  readonly #pods: Pods
  readonly #agents = new Map<string, Promise<Agent>>()

  constructor(pods: Pods) {
    this.#pods = pods
  }

  async of(pod: string): Promise<Agent | undefined> {
    const state = this.#pods.state(pod)
    const agent = this.#agents.get(state.uid) ?? start(state)
    if (agent === undefined) return undefined
    this.#agents.set(state.uid, agent)
    return agent.catch(() => void this.#agents.delete(state.uid))
  }

  async close(): Promise<void> {
    const kill = async (starting: Promise<Agent>): Promise<void> => (await starting).kill()
    await Promise.allSettled([...this.#agents.values()].map(kill))
  }
}

/** Undefined: the pod has no process whose namespaces could be entered. */
function start({ name, pid }: PodState): Promise<Agent> | undefined {
  return pid === undefined ? undefined : startAgent(insideOf(name, pid))
}

/** The network of a pod, and its files: its resolv.conf, and the token of its account. */
function insideOf(name: string, pid: number): AgentPlace {
  const enter = ['nsenter', `--target=${pid}`, '--net', '--mount', '--']
  return { name, inside: (command) => [...enter, ...command] }
}
