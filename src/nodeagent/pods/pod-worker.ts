import type { ApiClient } from '../../client/http/api-client.ts'
import type { ApiFailure } from '../../client/http/failure/failure.ts'
import type { JsonObject } from '../../lib/json.ts'
import { sleep } from '../../lib/sleep.ts'
import { type PodPlan, readPod } from '../plan/pod-plan.ts'
import { withResolver } from '../plan/with-resolver.ts'
import { advance, isFinished } from '../state/advance.ts'
import type { PodAction } from '../state/pod-action.ts'
import type { PodEvent } from '../state/pod-event.ts'
import type { PodState } from '../state/pod-state.ts'
import { receive } from '../state/receive.ts'
import { restorePodState } from '../state/restore.ts'
import { podStatus } from '../status/pod-status.ts'
import { EventRecorder } from './event-recorder.ts'
import type { NodeTools } from './node-tools.ts'
import type { PodAccess } from './pod-access.ts'
import { PodEffects } from './pod-effects.ts'
import { faultTexts, textOfAction, textOfEvent } from './pod-events.ts'
import { podPath } from './pod-path.ts'
import { StatusWriter } from './status-writer.ts'

export interface PodWorkerOptions {
  readonly client: Pick<ApiClient, 'create' | 'patch' | 'remove'>
  readonly tools: NodeTools
  /** The Pod as it is bound to this node. */
  readonly object: JsonObject
  readonly onRefused: (failure: ApiFailure) => void
}

/**
 * Runs one Pod: passes events to the pure state, carries out
 * the actions that follow, and writes the status. A Pod is run as it was first seen; later
 * changes of its labels, annotations and deletion count, those of its containers do not.
 */
export class PodWorker {
  readonly uid: string
  /** Resolves when nothing of the Pod is left here, nor, if it was deleted, at the server. */
  readonly ended: Promise<void>
  readonly #options: PodWorkerOptions
  readonly #effects: PodEffects
  readonly #writer: StatusWriter
  readonly #recorder: EventRecorder
  readonly #gone = new AbortController()
  readonly #end = Promise.withResolvers<void>()
  #plan: PodPlan
  #state: PodState
  #isDeleted = false
  #isStopped = false
  #isFinishing = false
  #cancelWake: () => void = () => undefined

  constructor(options: PodWorkerOptions) {
    const { client, tools, object, onRefused } = options
    const { clock, addresses, reporter } = tools
    const pod = withResolver(readPod(object), object, tools.resolver)
    this.#options = options
    this.#plan = pod
    this.#state = restorePodState(pod, object, clock.now())
    this.uid = pod.uid
    this.ended = this.#end.promise
    this.#effects = new PodEffects(tools, pod, (event) => this.#happened(event))
    const onMissedChange = (): void => this.#look()
    const writing = { client, clock, pod, object, onRefused, onMissedChange }
    this.#writer = new StatusWriter(writing, this.#gone.signal)
    this.#recorder = new EventRecorder({ client, clock, pod, reporter })
    if (this.#state.outcome === undefined) addresses.keep(pod.uid, this.#state.network.ips)
    for (const text of faultTexts(pod)) this.#recorder.record(text)
  }

  /** Looks at the Pod as its object is now; the first call sets it going. */
  update(object: JsonObject): void {
    const { labels, annotations, deletionGraceMs } = readPod(object)
    this.#plan = { ...this.#plan, labels, annotations }
    this.#effects.changed({ labels, annotations })
    this.#writer.seen(object)
    if (deletionGraceMs === undefined) return this.#look()
    this.#isDeleted = true
    this.#happened({ is: 'stopped', graceMs: deletionGraceMs })
  }

  /** What clients reach of the Pod. */
  get access(): PodAccess {
    return this.#effects.access
  }

  /** Whether a container runs now. */
  isRunning(container: string): boolean {
    return this.#state.containers.some(
      ({ name, phase }) => name === container && phase === 'running',
    )
  }

  /** The server took a heartbeat of the node. */
  heard(): void {
    this.#writeStatus(true)
  }

  /** The object is gone although the Pod may still run. */
  gone(): void {
    this.#gone.abort()
    this.#isDeleted = false
    this.stop(this.#plan.graceMs)
  }

  /** Ends the Pod and leaves its object. */
  stop(graceMs: number): void {
    this.#isStopped = true
    this.#happened({ is: 'stopped', graceMs: Math.min(graceMs, this.#plan.graceMs) })
  }

  #happened(event: PodEvent): void {
    const text = textOfEvent(event)
    if (text !== undefined && !this.#gone.signal.aborted) this.#recorder.record(text)
    this.#state = receive(this.#plan, this.#state, event, this.#now())
    this.#look()
  }

  #look(): void {
    const { state, actions, wakeAt } = advance(this.#plan, this.#state, this.#now())
    this.#state = state
    for (const action of actions) this.#do(action)
    this.#cancelWake()
    if (wakeAt !== Number.POSITIVE_INFINITY) {
      const ms = Math.max(0, wakeAt - this.#now())
      this.#cancelWake = this.#options.tools.clock.after(ms, () => this.#look())
    }
    this.#writeStatus(false)
    if (isFinished(this.#state) && !this.#isFinishing) {
      this.#isFinishing = true
      this.#finish().then(this.#end.resolve, this.#end.reject)
    }
  }

  #do(action: PodAction): void {
    const text = textOfAction(action)
    if (text !== undefined && !this.#gone.signal.aborted) this.#recorder.record(text)
    void Promise.resolve()
      .then(() => this.#effects.perform(action))
      .catch(this.#end.reject)
  }

  #writeStatus(isHeard: boolean): void {
    if (this.#gone.signal.aborted) return
    const { hostIPs } = this.#options.tools
    const context = { now: this.#now(), hostIPs, before: this.#writer.known, isHeard }
    this.#writer.write(podStatus(this.#plan, this.#state, context))
  }

  async #finish(): Promise<void> {
    const { tools } = this.#options
    this.#cancelWake()
    const isGone = this.#isDeleted || this.#gone.signal.aborted
    await this.#effects.close(isGone).catch(tools.onError)
    const writes = Promise.all([this.#writer.settled(), this.#recorder.settled()])
    await Promise.race([writes, sleep(tools.clock, LAST_STATUS_MS)])
    if (this.#isDeleted) await this.#remove()
  }

  /** Removes the object, again and again unless the node agent ends: the next one does it then. */
  async #remove(): Promise<void> {
    const { client, tools, onRefused } = this.#options
    const body = { gracePeriodSeconds: 0, preconditions: { uid: this.uid } }
    for (let failures = 0; !this.#gone.signal.aborted; failures++) {
      const removed = await client.remove(podPath(this.#plan), body)
      if (removed.ok || removed.failure.code === 404) return
      if (failures === 0) onRefused(removed.failure)
      if (this.#isStopped) return
      await sleep(tools.clock, RETRY_MS, this.#gone.signal)
    }
  }

  #now(): number {
    return this.#options.tools.clock.now()
  }
}

const RETRY_MS = 1_000
/** A last status that cannot be written does not keep the Pod from going. */
const LAST_STATUS_MS = 5_000
