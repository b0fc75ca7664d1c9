import type { ApiClient } from '../../client/http/api-client.ts'
import type { ApiFailure } from '../../client/http/failure.ts'
import { sleep } from '../../lib/clock.ts'
import type { JsonObject } from '../../lib/json.ts'
import { type ClusterResolver, hasOwnResolver, readPodDns } from '../../resources/pod-dns.ts'
import type { MountPlan } from '../plan/container-plan.ts'
import { type PodPlan, readPod } from '../plan/pod-plan.ts'
import type { FilesVolume } from '../plan/volume-plan.ts'
import { advance, isFinished } from '../state/advance.ts'
import type { PodAction, PodEvent } from '../state/pod-event.ts'
import type { PodState } from '../state/pod-state.ts'
import { receive } from '../state/receive.ts'
import { restorePodState } from '../state/restore.ts'
import { EventRecorder, faultTexts, textOfAction, textOfEvent } from './event-recorder.ts'
import type { NodeTools } from './node-tools.ts'
import { type PodAccess, podPath } from './pod-access.ts'
import { PodEffects } from './pod-effects.ts'
import { podStatus } from './pod-status.ts'
import { StatusWriter } from './status-writer.ts'

/** Constructor options of `PodWorker`. */
export interface PodWorkerOptions {
  readonly client: Pick<ApiClient, 'create' | 'patch' | 'remove'>
  readonly tools: NodeTools
  /** The Pod as it is bound to this node. */
  readonly object: JsonObject
  /** Called when the server does not accept a status, or the removal of the object. */
  readonly onRefused: (failure: ApiFailure) => void
}

/** The delay before the next attempt to remove the object. */
const RETRY_MS = 1_000
/** How long the end of a Pod waits for its last status and Events to be written. */
const LAST_STATUS_MS = 5_000

/**
 * Runs one Pod: passes events to the pure functions of its state, performs the actions that follow from them, and
 * writes the status. The containers and volumes are those of the first object that was seen: of later changes only
 * those of labels and annotations, and the deletion, take effect.
 */
export class PodWorker {
  readonly uid: string
  /** Resolves when nothing of the Pod is left on this node and, if it was deleted, on the server. */
  readonly ended: Promise<void>
  readonly #options: PodWorkerOptions
  readonly #effects: PodEffects
  readonly #writer: StatusWriter
  readonly #recorder: EventRecorder
  /** Aborted when the object is gone from the server. */
  readonly #gone = new AbortController()
  readonly #end = Promise.withResolvers<void>()
  #plan: PodPlan
  #state: PodState
  /** Whether the object has a deletion timestamp, so that it is removed when the Pod has ended. */
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
    const onMissedChange = (): void => this.#advance()
    const writing = { client, clock, pod, object, onRefused, onMissedChange }
    this.#writer = new StatusWriter(writing, this.#gone.signal)
    this.#recorder = new EventRecorder({ client, clock, pod, reporter })
    // A Pod that ended before this node agent started keeps no addresses.
    if (this.#state.outcome === undefined) addresses.keep(pod.uid, this.#state.network.ips)
    for (const text of faultTexts(pod)) this.#recorder.record(text)
  }

  /** Takes the current object of the Pod. The first call starts the Pod; one with a deletion timestamp stops it. */
  update(object: JsonObject): void {
    const { labels, annotations, deletionGraceMs } = readPod(object)
    this.#plan = { ...this.#plan, labels, annotations }
    this.#effects.changed({ labels, annotations })
    this.#writer.seen(object)
    if (deletionGraceMs === undefined) return this.#advance()
    this.#isDeleted = true
    this.#happened({ is: 'stopped', graceMs: deletionGraceMs })
  }

  /** The access of clients to the Pod. */
  get access(): PodAccess {
    return this.#effects.access
  }

  /** Whether a container is running. */
  isRunning(container: string): boolean {
    return this.#state.containers.some(
      ({ name, phase }) => name === container && phase === 'running',
    )
  }

  /** To be called when the server has accepted a heartbeat of the node. */
  heard(): void {
    this.#writeStatus(true)
  }

  /** To be called when the object is gone from the server, although the Pod may still run. Stops the Pod. */
  gone(): void {
    this.#gone.abort()
    this.#isDeleted = false
    this.stop(this.#plan.graceMs)
  }

  /** Stops the Pod without deleting its object. `graceMs` can only shorten the grace period of the Pod. */
  stop(graceMs: number): void {
    this.#isStopped = true
    this.#happened({ is: 'stopped', graceMs: Math.min(graceMs, this.#plan.graceMs) })
  }

  /** Takes an event into the state, and records it as a Kubernetes Event if it has a text. */
  #happened(event: PodEvent): void {
    const text = textOfEvent(event, this.#plan, this.#state)
    if (text !== undefined && !this.#gone.signal.aborted) this.#recorder.record(text)
    this.#state = receive(this.#plan, this.#state, event, this.#now())
    this.#advance()
  }

  /** Advances the state to the present time, performs the actions that follow, and writes the status. */
  #advance(): void {
    const { state, actions, wakeAt } = advance(this.#plan, this.#state, this.#now())
    this.#state = state
    for (const action of actions) this.#do(action)
    this.#cancelWake()
    if (wakeAt !== Number.POSITIVE_INFINITY) {
      const ms = Math.max(0, wakeAt - this.#now())
      this.#cancelWake = this.#options.tools.clock.after(ms, () => this.#advance())
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

  /** Ends the effects of the Pod, waits for the last writes, and removes the object if it was deleted. */
  async #finish(): Promise<void> {
    const { tools } = this.#options
    this.#cancelWake()
    const isGone = this.#isDeleted || this.#gone.signal.aborted
    await this.#effects.close(isGone).catch(tools.onError)
    const writes = Promise.all([this.#writer.settled(), this.#recorder.settled()])
    await Promise.race([writes, sleep(tools.clock, LAST_STATUS_MS)])
    if (this.#isDeleted) await this.#remove()
  }

  /** Removes the object. Retries until the node agent ends; then the next node agent removes it. */
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

const RESOLV_CONF_PATH = '/etc/resolv.conf'
const RESOLV_CONF_FILE = 'resolv.conf'
const RESOLV_CONF_MODE = 0o644
/** The name of a volume that no volume of a Pod can have. */
const RESOLV_CONF_VOLUME = '_resolver'

/**
 * The plan with a volume that contains the Pod's resolv.conf. The volume is mounted in each container that has no mount
 * of its own at that path or above it. Returns the unchanged plan if the Pod uses the file of the node.
 */
function withResolver(
  plan: PodPlan,
  object: JsonObject,
  resolver: ClusterResolver | undefined,
): PodPlan {
  if (resolver === undefined) return plan
  const dns = readPodDns(object)
  if (!hasOwnResolver(dns, resolver)) return plan
  const volume: FilesVolume = {
    kind: 'files',
    name: RESOLV_CONF_VOLUME,
    defaultMode: RESOLV_CONF_MODE,
    sources: [{ kind: 'resolver', path: RESOLV_CONF_FILE, dns, resolver }],
  }
  const mount: MountPlan = {
    volume,
    path: RESOLV_CONF_PATH,
    isReadOnly: true,
    subPath: RESOLV_CONF_FILE,
  }
  return {
    ...plan,
    volumes: [...plan.volumes, volume],
    containers: plan.containers.map((container) =>
      container.mounts.some(coversResolvConf)
        ? container
        : { ...container, mounts: [...container.mounts, mount] },
    ),
  }
}

function coversResolvConf({ path }: MountPlan): boolean {
  return path === '/' || path === RESOLV_CONF_PATH || RESOLV_CONF_PATH.startsWith(`${path}/`)
}
