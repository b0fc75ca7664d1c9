import { sleep } from '../../lib/clock.ts'
import type { JsonObject } from '../../lib/json.ts'
import { type NodeStep, nextNodeStep, otherThan } from './next-step.ts'
import { cleanUpPod } from './objects.ts'
import { type NodeState, nodeState, type PodState, type ProxySets } from './observed.ts'
import { CLEAN_UP_LABEL, NAMESPACE, PROXY_LABEL, type Proxy, type Served } from './placement.ts'
import type { ConnectionCounts, NodeProbe } from './probe.ts'
import { createRequests, type MoveEnvironment, pathOf, type Requests } from './requests.ts'

/** What became of a node. */
export interface NodeResult {
  readonly node: string
  /**
   * `moved`: where it was wanted. `back`: it got worse, and went back. `stuck`: it got worse, and is not back yet. `gone`:
   * it was deleted. `skipped`: it was not Ready when its turn came, and is as it was.
   */
  readonly outcome: 'moved' | 'back' | 'stuck' | 'gone' | 'skipped'
  /** What got worse. */
  readonly reason?: string
  /** Of the connections that were made to it meanwhile. */
  readonly connections?: ConnectionCounts
}

interface MoveOptions {
  readonly goal: Proxy
  readonly sets: ProxySets
  /** Milliseconds for which a node has to be well. */
  readonly settleMs: number
}

/** What node-proxy logs once, when it serves. */
const WRITTEN = 'the rules are in the kernel for the first time'
const LOG_BYTES = String(8 * 1024 * 1024)
const HEALTH_PORT = 10_256

/**
 * Moves one node, and watches it meanwhile. When it gets worse on its way to node-proxy, it goes back to kube-proxy. When
 * it gets worse on its way to kube-proxy, it goes back to the state in which both proxies serve it.
 */
export async function moveNode(
  name: string,
  options: MoveOptions,
  environment: MoveEnvironment,
): Promise<NodeResult> {
  const requests = createRequests(environment)
  const object = await requests.get(pathOf('Node', name))
  if (object === undefined) return { node: name, outcome: 'gone' }
  if (!nodeState(object, [], options.sets).isReady) return { node: name, outcome: 'skipped' }
  const probe = await environment.startProbe?.(object)
  if (environment.startProbe !== undefined && probe === undefined) {
    environment.notice(`node ${name}: not probed: no node port of it answers from here`)
  }
  try {
    const result = await moveWatched(name, { ...options, requests, probe }, environment)
    return probe === undefined ? result : { ...result, connections: probe.counts() }
  } finally {
    probe?.close()
  }
}

/** Moves a node, and takes it back when it gets worse. */
async function moveWatched(
  name: string,
  options: MoveParts,
  environment: MoveEnvironment,
): Promise<NodeResult> {
  const move = new NodeMove(name, options, environment)
  const first = await move.towards(options.goal)
  if (first === 'gone') return { node: name, outcome: 'gone' }
  if (first === undefined) return { node: name, outcome: 'moved' }
  const safe: Served = options.goal === 'node-proxy' ? 'kube-proxy' : 'both'
  environment.notice(`node ${name}: worse: ${first.worse}; going back to ${safe}`)
  const second = await move.towards(safe)
  if (second === 'gone') return { node: name, outcome: 'gone' }
  if (second === undefined) return { node: name, outcome: 'back', reason: first.worse }
  return { node: name, outcome: 'stuck', reason: `${first.worse}; then ${second.worse}` }
}

interface MoveParts extends MoveOptions {
  readonly requests: Requests
  readonly probe: NodeProbe | undefined
}

/** How a move ended. Undefined: at its goal; `gone`: the Node was deleted; `worse`: what got worse. */
type Ended = undefined | 'gone' | { readonly worse: string }

/** What is known of a node that moves, from the steps before. */
interface Memory {
  /** What the present step waits for, and since when. */
  waiting: { what: string; since: number } | undefined
  /** When watching began. */
  watchingSince: number | undefined
  /** Since when the node is well. */
  wellSince: number | undefined
  isWatched: boolean
  /** The node-proxy Pod that has written its rules. */
  written: string
  wasReady: boolean
  /** Restarts of each Pod when it was first seen to serve alone. */
  readonly restarts: Map<string, number>
}

/** The steps of one node. */
class NodeMove {
  readonly #name: string
  readonly #parts: MoveParts
  readonly #environment: MoveEnvironment
  #isUncheckedSaid = false

  constructor(name: string, parts: MoveParts, environment: MoveEnvironment) {
    this.#name = name
    this.#parts = parts
    this.#environment = environment
  }

  /** Takes one step after the other until the proxies of `goal` serve the node, or something got worse. */
  async towards(goal: Served): Promise<Ended> {
    const memory: Memory = {
      waiting: undefined,
      watchingSince: undefined,
      wellSince: undefined,
      isWatched: false,
      written: '',
      wasReady: false,
      restarts: new Map(),
    }
    for (;;) {
      this.#environment.signal.throwIfAborted()
      const seen = await this.#look()
      if (seen === undefined) return 'gone'
      const probed = await this.#parts.probe?.look()
      // On its way back, failed connections do not matter: there is no better place.
      const failedProbe = goal === this.#parts.goal ? probed : undefined
      const worse = worseOf(seen.state, goal, memory) ?? failedProbe
      if (worse !== undefined) return { worse }
      const isWritten = goal === 'node-proxy' && (await this.#isWritten(seen.state, memory))
      const step = nextNodeStep(seen.state, goal, { isWritten, isWatched: memory.isWatched })
      if (step.kind === 'done') return undefined
      const late = await this.#perform(step, goal, { ...seen, memory })
      if (late !== undefined) return { worse: late }
    }
  }

  async #look(): Promise<{ object: JsonObject; state: NodeState } | undefined> {
    const { requests, sets } = this.#parts
    const object = await requests.get(pathOf('Node', this.#name))
    if (object === undefined) return undefined
    const fieldSelector = `spec.nodeName=${this.#name}`
    const pods = await requests.list(`/api/v1/namespaces/${NAMESPACE}/pods`, { fieldSelector })
    return { object, state: nodeState(object, pods, sets) }
  }

  /** @returns what took too long */
  async #perform(
    step: NodeStep,
    goal: Served,
    seen: { readonly object: JsonObject; readonly state: NodeState; readonly memory: Memory },
  ): Promise<string | undefined> {
    const { requests } = this.#parts
    const { memory } = seen
    switch (step.kind) {
      case 'label': {
        const isCleaned = step.label === seen.state.label && step.pending === ''
        this.#say(
          isCleaned ? `the rules of ${seen.state.pending} are removed` : `label ${step.label}`,
        )
        memory.isWatched = false
        memory.watchingSince = undefined
        memory.wellSince = undefined
        const labels = { [PROXY_LABEL]: step.label, [CLEAN_UP_LABEL]: step.pending || null }
        await requests.patch(pathOf('Node', this.#name), { metadata: { labels } })
        return undefined
      }
      case 'clean-up':
        return this.#cleanUp(step.of)
      case 'delete-pod':
        await requests.remove(pathOf('Pod', step.pod))
        return undefined
      case 'wait':
        return this.#wait(step.what, memory)
      case 'watch':
        return this.#watch(goal, seen)
      case 'done':
        return undefined
    }
  }

  async #cleanUp(of: Proxy): Promise<string | undefined> {
    const { kubeProxy, nodeProxy } = this.#parts.sets
    const set = of === 'kube-proxy' ? kubeProxy : nodeProxy
    if (set === undefined) return `the rules of ${of} cannot be removed: it has no DaemonSet`
    this.#say(`remove the rules of ${of}`)
    await this.#parts.requests.create(cleanUpPod(of, this.#name, set.object))
    return undefined
  }

  async #wait(what: string, memory: Memory): Promise<string | undefined> {
    const { clock, pollMs, timeoutMs, signal } = this.#environment
    const now = clock.now()
    if (memory.waiting?.what !== what) {
      memory.waiting = { what, since: now }
      this.#say(`wait for ${what}`)
    }
    if (now - memory.waiting.since >= timeoutMs) {
      return `waited ${Math.round(timeoutMs / 1_000)} s for ${what}`
    }
    await sleep(clock, pollMs, signal)
    return undefined
  }

  async #watch(
    goal: Served,
    { object, state, memory }: { object: JsonObject; state: NodeState; memory: Memory },
  ): Promise<string | undefined> {
    const { clock, pollMs, timeoutMs, signal } = this.#environment
    const illness = goal === 'both' ? undefined : await this.#illness(object, state, goal)
    const now = clock.now()
    if (memory.watchingSince === undefined) this.#say('watch')
    memory.watchingSince ??= now
    memory.wellSince = illness === undefined ? (memory.wellSince ?? now) : undefined
    memory.isWatched =
      memory.wellSince !== undefined && now - memory.wellSince >= this.#parts.settleMs
    if (memory.isWatched) return undefined
    // An illness that comes and goes counts as one that stays.
    if (now - memory.watchingSince >= this.#parts.settleMs + timeoutMs) {
      return illness ?? 'its health check fails again and again'
    }
    await sleep(clock, pollMs, signal)
    return undefined
  }

  /** What the health check of the proxy that serves alone says, and node-proxy's own reasons. */
  async #illness(node: JsonObject, state: NodeState, goal: Proxy): Promise<string | undefined> {
    if (state.served !== goal) return undefined
    const pods = goal === 'node-proxy' ? state.nodeProxy : state.kubeProxy
    const pod = pods.find(({ isReady }) => isReady)
    if (pod === undefined) return undefined
    const path = `${pathOf('Pod', pod.name)}:${HEALTH_PORT}/proxy/healthz`
    const answer = await this.#environment.api.requestText({ path })
    if (!answer.ok) {
      const { code, reason, message } = answer.failure
      // An answer of the proxy has no reason. An answer of the API server has one: it could not reach the proxy.
      if (code === 503 && reason === 'HTTP 503') return `${goal} answers its health check with 503`
      this.#sayUnchecked(message)
    }
    if (goal !== 'node-proxy') return undefined
    const reasons = (await this.#environment.status?.(node)) ?? []
    return reasons.length === 0 ? undefined : `node-proxy status: ${reasons.join('; ')}`
  }

  /** Whether a Pod of node-proxy has logged that it serves. While kube-proxy has port 10256, its Pod is not ready. */
  async #isWritten({ served, nodeProxy }: NodeState, memory: Memory): Promise<boolean> {
    if (served !== 'both') return false
    const pod = nodeProxy.find(({ hasRun, isDeleting }) => hasRun && !isDeleting)
    if (pod === undefined) return false
    if (memory.written === pod.name) return true
    const query = { container: 'node-proxy', limitBytes: LOG_BYTES }
    const log = await this.#environment.api.requestText({
      path: `${pathOf('Pod', pod.name)}/log`,
      query,
    })
    if (!log.ok) this.#sayUnchecked(log.failure.message)
    if (!log.ok || !log.text.includes(WRITTEN)) return false
    memory.written = pod.name
    return true
  }

  #say(text: string): void {
    this.#environment.notice(`node ${this.#name}: ${text}`)
  }

  #sayUnchecked(why: string): void {
    if (!this.#isUncheckedSaid) this.#say(`not checked: ${why}`)
    this.#isUncheckedSaid = true
  }
}

/** What has got worse since the move began; undefined: nothing. */
function worseOf(state: NodeState, goal: Served, memory: Memory): string | undefined {
  if (state.isReady) memory.wasReady = true
  else if (memory.wasReady) return 'the Node is not Ready any more'
  if (goal === 'both') return undefined
  const serving = goal === 'node-proxy' ? state.nodeProxy : state.kubeProxy
  const trouble = serving.find((pod) => pod.trouble !== undefined && !pod.isDeleting)
  if (trouble !== undefined) return `Pod ${trouble.name}: ${trouble.trouble}`
  const cleanUp = state.cleanUps.find((pod) => pod.trouble !== undefined && !pod.isDeleting)
  const other = otherThan(goal)
  if (cleanUp !== undefined && state.pending === other) {
    return `the rules of ${other} are not removed: Pod ${cleanUp.name}: ${cleanUp.trouble}`
  }
  // Beside the other proxy its health check is not its own, so the kubelet may restart it.
  return state.served === goal ? restarted(serving, memory) : undefined
}

function restarted(pods: readonly PodState[], { restarts }: Memory): string | undefined {
  for (const { name, restarts: now } of pods) {
    const before = restarts.get(name)
    if (before === undefined) restarts.set(name, now)
    else if (now > before) return `Pod ${name} has restarted`
  }
  return undefined
}
