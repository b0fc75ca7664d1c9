import { stat } from 'node:fs/promises'
import {
  type CommandOptions,
  type LogOptions,
  type PodDialer,
  type RunningCommand,
  StreamRefusal,
} from '../../streams/node-streams.ts'
import { openPodDialer } from '../forwarding/pod-dialer.ts'
import { previousLog } from '../logs/container-log.ts'
import { readLog } from '../logs/read-log.ts'
import { isOwnNamespace } from '../network/namespace.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import { podMark } from '../process/pod-mark.ts'
import type { NodeTools } from './node-tools.ts'
import type { PodProcesses } from './pod-processes.ts'

/** What clients reach of one Pod: logs, commands, connections. */
export class PodAccess {
  readonly #tools: NodeTools
  readonly #pod: PodPlan
  readonly #processes: PodProcesses

  constructor(tools: NodeTools, pod: PodPlan, processes: PodProcesses) {
    this.#tools = tools
    this.#pod = pod
    this.#processes = processes
  }

  async logs(
    container: string,
    options: LogOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Buffer> | StreamRefusal> {
    const { name } = this.#pod
    const { path, progress } = this.#processes.logOf(container)
    const file = options.previous ? previousLog(path) : path
    const isThere = await stat(file).then(
      () => true,
      () => false,
    )
    if (isThere) {
      return readLog(file, {
        ...options,
        progress: options.previous ? undefined : progress,
        signal,
      })
    }
    const what = JSON.stringify(container)
    const why = options.previous
      ? `previous terminated container ${what} in pod ${JSON.stringify(name)} not found`
      : `container ${what} in pod ${JSON.stringify(name)} is waiting to start`
    return new StreamRefusal('invalid', why)
  }

  async run(container: string, options: CommandOptions): Promise<RunningCommand | StreamRefusal> {
    const plan = this.#pod.containers.find(({ name }) => name === container)
    if (plan === undefined) return new StreamRefusal('invalid', 'the pod has no such container')
    return this.#processes.attach(plan, options)
  }

  /** Never of the node's network: its loopback address is that of the node. */
  async dialer(): Promise<PodDialer | StreamRefusal> {
    const { network, namespacePrefix } = this.#tools
    const { uid, hostNetwork } = this.#pod
    const namespace = hostNetwork ? undefined : network.nameOf(uid)
    if (namespace === undefined || (await isOwnNamespace(namespace).catch(() => true))) {
      return new StreamRefusal('invalid', 'the pod has no network of its own')
    }
    return openPodDialer(namespace, podMark(namespacePrefix, uid))
  }
}
