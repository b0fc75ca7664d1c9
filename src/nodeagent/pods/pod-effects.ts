import { messageOf } from '../../lib/error.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { ContainerPlan, Handler } from '../plan/container-plan.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { PodAction, PodEvent, ProbeResult } from '../state/pod-event.ts'
import { PodVolumes } from '../volumes/pod-volumes.ts'
import { FAILED_MOUNT } from './event-recorder.ts'
import type { NodeTools } from './node-tools.ts'
import { PodAccess } from './pod-access.ts'
import { PodProcesses } from './pod-processes.ts'

/** Carries out the actions for one Pod and emits their results as events. Never rejects. */
export class PodEffects {
  readonly #tools: NodeTools
  readonly #pod: PodPlan
  readonly #emit: (event: PodEvent) => void
  readonly #processes: PodProcesses
  readonly #volumes: PodVolumes
  /** The access of clients to the Pod. */
  readonly access: PodAccess
  #ips: readonly IpAddress[] = []
  #isDisconnected = false

  constructor(tools: NodeTools, pod: PodPlan, emit: (event: PodEvent) => void) {
    this.#tools = tools
    this.#pod = pod
    this.#emit = emit
    const notice = (reason: string, message: string): void =>
      emit({ is: 'noticed', reason, message })
    this.#volumes = new PodVolumes(tools, pod, (message) => notice(FAILED_MOUNT, message))
    this.#processes = new PodProcesses({ tools, pod, volumes: this.#volumes, notice })
    this.access = new PodAccess(tools, pod, this.#processes)
  }

  /** The Pod's labels and annotations as they are now. */
  changed(metadata: Pick<PodPlan, 'labels' | 'annotations'>): void {
    this.#volumes.changed(metadata)
  }

  async perform(action: PodAction): Promise<void> {
    switch (action.do) {
      case 'connect':
        return this.#connect()
      case 'disconnect':
        return this.#disconnect(MAX_ATTEMPTS)
      case 'mount':
        return this.#mount()
      case 'start':
        return this.#start(action)
      case 'signal':
        return this.#processes.signal(action.container, action.signal)
      case 'hook':
        return this.#hook(action)
      case 'probe':
        return this.#probe(action)
    }
  }

  /**
   * Closes the logs, and removes them if the Pod will not come back. Releases what a failed connection, if it
   * was not retried, still holds.
   */
  async close(isGone: boolean): Promise<void> {
    await this.#processes.close()
    if (!this.#isDisconnected) await this.#leave().catch(this.#tools.onError)
    await this.#volumes.close()
    if (isGone) await this.#processes.forget()
  }

  async #connect(): Promise<void> {
    const { network, addresses, hostIPs } = this.#tools
    const { uid, hostNetwork } = this.#pod
    try {
      this.#ips = hostNetwork ? hostIPs : addresses.claim(uid)
      if (!hostNetwork) await network.connect(this.#pod, this.#ips)
      this.#emit({ is: 'connected', ips: this.#ips })
    } catch (error) {
      this.#emit({ is: 'unconnected', message: messageOf(error) })
    }
  }

  /**
   * Removes the network and the volumes of a Pod that has ended. If that fails, its address stays reserved, and
   * the next node agent tries again.
   */
  async #disconnect(attempts: number): Promise<void> {
    const { clock, onError } = this.#tools
    try {
      await this.#leave()
    } catch (error) {
      if (attempts > 1) {
        clock.after(RETRY_MS, () => void this.#disconnect(attempts - 1))
        return
      }
      onError(error)
    }
    this.#isDisconnected = true
    await this.#processes.close().catch(onError)
    await this.#volumes.close().catch(onError)
    this.#emit({ is: 'disconnected' })
  }

  async #leave(): Promise<void> {
    const { network, addresses } = this.#tools
    const { uid, hostNetwork } = this.#pod
    if (!hostNetwork) await network.disconnect(uid)
    addresses.release(uid)
  }

  async #mount(): Promise<void> {
    try {
      await this.#processes.makeVolumes()
      this.#emit({ is: 'mounted' })
    } catch (error) {
      this.#emit({ is: 'unmounted', message: messageOf(error) })
    }
  }

  async #start({ container, run }: Extract<PodAction, { do: 'start' }>): Promise<void> {
    const plan = this.#planOf(container)
    const started = await this.#processes.start(plan, this.#ips, run).catch(messageOf)
    if (typeof started === 'string') {
      return this.#emit({ is: 'refused', container, run, message: started })
    }
    if ('problem' in started) {
      const message = started.problem
      return this.#emit({ is: 'refused', container, run, message, isUnconfigured: true })
    }
    void started.ended.then((end) => this.#emit({ is: 'ended', container, run, ...end }))
    this.#emit({ is: 'started', container, run, pid: started.pid })
  }

  async #hook({ container, run }: Extract<PodAction, { do: 'hook' }>): Promise<void> {
    const { preStop } = this.#planOf(container)
    if (preStop !== undefined) await this.#runHandler(container, preStop, this.#pod.graceMs)
    this.#emit({ is: 'hooked', container, run })
  }

  async #probe({ container, run, kind }: Extract<PodAction, { do: 'probe' }>): Promise<void> {
    const probe = this.#planOf(container).probes[kind]
    if (probe === undefined) return
    const answer = await this.#runHandler(container, probe.handler, probe.timeoutMs)
    this.#emit({ is: 'probed', container, run, kind, ...answer })
  }

  async #runHandler(container: string, handler: Handler, timeoutMs: number): Promise<ProbeResult> {
    if (handler.kind !== 'exec') {
      const host = handler.host || (this.#ips[0] ?? '')
      return this.#tools.prober.probe({ ...handler, host }, timeoutMs)
    }
    return this.#processes
      .run(this.#planOf(container), handler.command, timeoutMs)
      .catch((error: unknown) => ({ outcome: 'unknown', message: messageOf(error) }))
  }

  #planOf(container: string): ContainerPlan {
    const plan = this.#pod.containers.find(({ name }) => name === container)
    if (plan === undefined) throw new TypeError(`no container ${JSON.stringify(container)}`)
    return plan
  }
}

const RETRY_MS = 1_000
const MAX_ATTEMPTS = 5
