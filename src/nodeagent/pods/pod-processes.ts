import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { IpAddress } from '../../lib/ip.ts'
import { sleep } from '../../lib/sleep.ts'
import { containerEnvironment } from '../plan/container-environment.ts'
import type { ContainerPlan } from '../plan/container-plan.ts'
import { expand } from '../plan/expand.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import {
  type ContainerProcess,
  type ProcessPlan,
  startProcess,
} from '../process/container-process.ts'
import { podMark } from '../process/pod-mark.ts'
import { openRotatingLog, type RotatingLog } from '../process/rotating-log.ts'
import { runOnce } from '../process/run-once.ts'
import type { ProbeResult } from '../state/pod-event.ts'
import type { NodeTools, Variable } from './node-tools.ts'

/** The processes of one Pod, with their environments and logs. */
export class PodProcesses {
  readonly #tools: NodeTools
  readonly #pod: PodPlan
  /** By the name of the container: the latest of each. */
  readonly #processes = new Map<string, ContainerProcess>()
  readonly #environments = new Map<string, ReadonlyMap<string, string>>()
  readonly #logs = new Map<string, RotatingLog>()
  #services: readonly Variable[] | undefined
  #closed: Promise<void> | undefined

  constructor(tools: NodeTools, pod: PodPlan) {
    this.#tools = tools
    this.#pod = pod
  }

  /** The container's process, or the reason why there is none, one sentence. */
  async start(
    plan: ContainerPlan,
    podIPs: readonly IpAddress[],
  ): Promise<ContainerProcess | string> {
    const services = await this.#knownServices()
    const circumstances = { podIPs, hostIP: this.#tools.hostIPs[0] ?? '', services }
    const environment = containerEnvironment(this.#pod, plan, circumstances)
    this.#environments.set(plan.name, environment)
    const path = join(this.#logFolder(), `${plan.name}.log`)
    const log = this.#logs.get(plan.name) ?? (await openRotatingLog(path))
    this.#logs.set(plan.name, log)
    const command = plan.command.map((word) => expand(word, environment))
    const started = await startProcess(this.#processPlan(plan, command, log))
    if (typeof started !== 'string') this.#processes.set(plan.name, started)
    return started
  }

  signal(container: string, name: 'SIGTERM' | 'SIGKILL'): void {
    this.#processes.get(container)?.signal(name)
  }

  /** Runs a command beside the container's process, as part of it. */
  run(plan: ContainerPlan, command: readonly string[], timeoutMs: number): Promise<ProbeResult> {
    const process = this.#processPlan(plan, command, undefined)
    return runOnce(process, timeoutMs, this.#tools.clock)
  }

  /** Closes the logs, once, with the last output of the processes that have ended. Nothing is started after that. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  /** Removes the logs, if there are any. */
  async forget(): Promise<void> {
    if (this.#logs.size > 0) await rm(this.#logFolder(), { recursive: true, force: true })
  }

  async #close(): Promise<void> {
    const processes = [...this.#processes.values()]
    const outputs = Promise.all(processes.map(({ closed }) => closed))
    await Promise.race([outputs, sleep(this.#tools.clock, LAST_OUTPUT_MS)])
    for (const one of processes) one.release()
    await Promise.all([...this.#logs.values()].map((log) => log.close()))
  }

  /** A restart need not wait for the API server: what was known before will do. */
  async #knownServices(): Promise<readonly Variable[]> {
    const known = this.#services
    const found = this.#tools.services(this.#pod)
    this.#services = known === undefined ? await found : await found.catch(() => known)
    return this.#services
  }

  #processPlan(
    { name, user, workingDir }: ContainerPlan,
    command: readonly string[],
    log: RotatingLog | undefined,
  ): ProcessPlan {
    const { programs, network, nodeNamespace, namespacePrefix } = this.#tools
    const { hostNetwork, uid } = this.#pod
    const namespace = hostNetwork ? nodeNamespace : network.nameOf(uid)
    const known = this.#environments.get(name) ?? []
    const environment = new Map([...known, podMark(namespacePrefix, uid)])
    return { launch: { ...programs, namespace, user }, command, environment, workingDir, log }
  }

  /** Names of Pods and containers are labels: none of them leads elsewhere. */
  #logFolder(): string {
    const { namespace, name, uid } = this.#pod
    return join(this.#tools.logFolder, `${namespace}_${name}_${uid}`)
  }
}

/** A process that left its group and namespace may hold a log open for ever. */
const LAST_OUTPUT_MS = 1_000
