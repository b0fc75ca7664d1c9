import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, sleep } from '../../lib/clock.ts'
import { messageOf } from '../../lib/error.ts'
import type { IpAddress } from '../../lib/ip.ts'
import {
  type CommandOptions,
  type RunningCommand,
  StreamRefusal,
} from '../../streams/node-streams.ts'
import { containerEnvironment, expand } from '../plan/container-environment.ts'
import type { ContainerPlan, MountPlan } from '../plan/container-plan.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import { startAttached, startInTerminal } from '../process/attached-process.ts'
import { type ContainerLog, type LogProgress, openContainerLog } from '../process/container-log.ts'
import {
  type ContainerProcess,
  type ProcessOutputs,
  type ProcessPlan,
  startProcess,
} from '../process/container-process.ts'
import { podMark } from '../process/launch.ts'
import type { ProbeResult } from '../state/pod-event.ts'
import {
  type ContainerMounts,
  makeInnerPlaces,
  mountForContainer,
} from '../volumes/container-mounts.ts'
import type { PodVolumes } from '../volumes/pod-volumes.ts'
import { EnvironmentObjects } from './environment-objects.ts'
import type { NodeTools, Variable } from './node-tools.ts'

export interface PodProcessesOptions {
  readonly tools: NodeTools
  readonly pod: PodPlan
  readonly volumes: PodVolumes
  /** Receives problems that do not prevent a container from running: the reason of an Event, and its message. */
  readonly notice: (reason: string, message: string) => void
}

/** Why a container cannot run yet: an object or key that its environment refers to is missing. */
export interface Unconfigured {
  readonly problem: string
}

/** The processes of one Pod, with their environments and logs. */
export class PodProcesses {
  readonly #tools: NodeTools
  readonly #pod: PodPlan
  // All by the name of the container, of its latest run.
  readonly #processes = new Map<string, ContainerProcess>()
  readonly #environments = new Map<string, ReadonlyMap<string, string>>()
  readonly #logs = new Map<string, RunLog>()
  readonly #mounts = new Map<string, ContainerMounts>()
  /** Commands of clients that run. */
  readonly #commands = new Set<RunningCommand>()
  readonly #volumes: PodVolumes
  readonly #objects: EnvironmentObjects
  readonly #notice: PodProcessesOptions['notice']
  /** The variables of Services as they were read last. */
  #services: readonly Variable[] | undefined
  /** Set when `close` was called. */
  #closed: Promise<void> | undefined

  constructor({ tools, pod, volumes, notice }: PodProcessesOptions) {
    this.#tools = tools
    this.#pod = pod
    this.#volumes = volumes
    this.#objects = new EnvironmentObjects(tools.client, pod.namespace)
    this.#notice = notice
  }

  /**
   * Makes the Pod's volumes, and the mount points in them for other volumes. To be called before any process of
   * the Pod runs.
   */
  async makeVolumes(): Promise<void> {
    await this.#volumes.make()
    for (const { mounts } of this.#pod.containers) {
      await makeInnerPlaces(mounts, (mount) => this.#folderOf(mount))
    }
  }

  /** The container's process, or the reason why there is none, one sentence without values of Secrets. */
  async start(
    plan: ContainerPlan,
    podIPs: readonly IpAddress[],
    run: number,
  ): Promise<ContainerProcess | Unconfigured | string> {
    const environment = await this.#environmentOf(plan, podIPs)
    if ('problem' in environment) return environment
    this.#environments.set(plan.name, environment)
    await this.#mountFor(plan)
    const log = await this.#logFor(plan.name, run)
    const command = plan.command.map((word) => expand(word, environment))
    // Not expanded, because a message must not contain a value of a Secret.
    const [shownProgram] = plan.command
    const started = await startProcess({ ...this.#processPlan(plan, command, log), shownProgram })
    if (typeof started === 'string') return started
    this.#processes.set(plan.name, started)
    void started.closed.then(() => log.close())
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

  /** Runs a command of a client beside the container's process, as part of it. */
  async attach(
    plan: ContainerPlan,
    { command, tty }: CommandOptions,
  ): Promise<RunningCommand | StreamRefusal> {
    if (this.#closed !== undefined) return new StreamRefusal('absent', 'the pod has ended')
    const process = this.#processPlan(plan, command, undefined)
    const { setsid } = this.#tools.programs
    const started = tty ? await startInTerminal(process, setsid) : await startAttached(process)
    if (started instanceof StreamRefusal) return started
    this.#commands.add(started)
    void started.ended.then(() => this.#commands.delete(started))
    if (this.#closed !== undefined) started.kill()
    return started
  }

  /** The log of a container, and its progress while more output may follow. */
  logOf(container: string): { readonly path: string; readonly progress: LogProgress | undefined } {
    const log = this.#logs.get(container)?.log
    return { path: this.#logPath(container), progress: log?.progress }
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
    for (const command of this.#commands) command.kill()
    await Promise.race([outputs, sleep(this.#tools.clock, LAST_OUTPUT_MS)])
    for (const one of processes) one.release()
    await Promise.all([...this.#logs.values()].map(({ log }) => log.close()))
    await Promise.all([...this.#mounts.values()].map((mounts) => mounts.close()))
    this.#mounts.clear()
  }

  async #environmentOf(
    plan: ContainerPlan,
    podIPs: readonly IpAddress[],
  ): Promise<ReadonlyMap<string, string> | Unconfigured> {
    const hostIP = this.#tools.hostIPs[0] ?? ''
    const services = await this.#knownServices()
    const valuesOf = await this.#objects.read(plan).catch(asUnconfigured)
    if ('problem' in valuesOf) return valuesOf
    const made = containerEnvironment(this.#pod, plan, { podIPs, hostIP, services, valuesOf })
    if ('problem' in made) return made
    for (const message of made.skipped) {
      this.#notice('InvalidEnvironmentVariableNames', `container ${plan.name}: ${message}`)
    }
    return made.variables
  }

  /** Makes the mounts of one run of a container. */
  async #mountFor({ name, mounts }: ContainerPlan): Promise<void> {
    if (mounts.length === 0) return
    const before = this.#mounts.get(name)
    this.#mounts.delete(name)
    await before?.close()
    const folderOf = (mount: MountPlan): string => this.#folderOf(mount)
    const scratch = join(await this.#volumes.ownFolder(), `mounts_${name}`)
    const made = await mountForContainer(mounts, { folderOf, scratch })
    if (this.#closed === undefined) this.#mounts.set(name, made)
    else await made.close()
  }

  #folderOf({ volume }: MountPlan): string {
    return this.#volumes.folderOf(volume)
  }

  /** The variables of Services. A restart does not wait for the API server, but uses those that were read before. */
  async #knownServices(): Promise<readonly Variable[]> {
    const known = this.#services
    const found = this.#tools.services(this.#pod)
    this.#services = known === undefined ? await found : await found.catch(() => known)
    return this.#services
  }

  #processPlan(
    { name, user, workingDir }: ContainerPlan,
    command: readonly string[],
    log: ProcessOutputs | undefined,
  ): ProcessPlan {
    const { programs, network, nodeNamespace, namespacePrefix } = this.#tools
    const { hostNetwork, uid } = this.#pod
    const namespace = hostNetwork ? nodeNamespace : network.nameOf(uid)
    const known = this.#environments.get(name) ?? []
    const environment = new Map([...known, podMark(namespacePrefix, uid)])
    const mounts = this.#mounts.get(name)
    const launch = { ...programs, namespace, mountNamespace: mounts?.path, user }
    const locate = mounts && ((path: string) => mounts.locate(path))
    return { launch, command, environment, workingDir, log, locate }
  }

  /** Opens the log of a run, after the log of the previous run has received its last output. */
  async #logFor(container: string, run: number): Promise<ContainerLog> {
    const known = this.#logs.get(container)
    if (known?.run === run) return known.log
    const before = this.#processes.get(container)
    if (before !== undefined) {
      await Promise.race([before.closed, sleep(this.#tools.clock, LAST_OUTPUT_MS)])
      before.release()
    }
    await known?.log.close()
    const log = await openContainerLog(this.#logPath(container), this.#tools.clock)
    this.#logs.set(container, { run, log })
    return log
  }

  #logPath(container: string): string {
    return join(this.#logFolder(), `${container}.log`)
  }

  /** The folder of the logs. Names of Pods and containers are DNS labels, so they cannot lead to another folder. */
  #logFolder(): string {
    const { namespace, name, uid } = this.#pod
    return join(this.#tools.logFolder, `${namespace}_${name}_${uid}`)
  }
}

/** The log of one run of a container. */
interface RunLog {
  readonly run: number
  readonly log: ContainerLog
}

/** The longest wait for the last output of processes that ended: one that left their group may hold a log open for ever. */
const LAST_OUTPUT_MS = 1_000

function asUnconfigured(error: unknown): Unconfigured {
  return { problem: messageOf(error) }
}

/** Runs a command of a probe or a hook to its end, or to its timeout. */
export async function runOnce(
  plan: ProcessPlan,
  timeoutMs: number,
  clock: Clock,
): Promise<ProbeResult> {
  const child = await startProcess(plan)
  if (typeof child === 'string') return { outcome: 'fail', message: child }
  let isLate = false
  const cancel = clock.after(timeoutMs, () => {
    isLate = true
    child.signal('SIGKILL')
  })
  const { exitCode, signal } = await child.ended
  cancel()
  if (isLate) return { outcome: 'fail', message: `no end within ${timeoutMs / 1000} s` }
  if (exitCode === 0 && signal === 0) return { outcome: 'pass', message: '' }
  const how = signal === 0 ? `exit code ${exitCode}` : `signal ${signal}`
  return { outcome: 'fail', message: `the command ended with ${how}` }
}
