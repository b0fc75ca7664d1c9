import { type Clock, sleep } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import {
  type ClusterState,
  type ClusterStep,
  clusterStepText,
  type Goal,
  nextClusterStep,
} from './cluster-step.ts'
import { acquireLease } from './lease.ts'
import { moveNode, type NodeResult } from './move-node.ts'
import { type AdoptedSettings, adapted } from './objects.ts'
import { daemonSetState, isForeignNode, isMade, nodeState, type ProxySets } from './observed.ts'
import { NAMESPACE, PROXY_LABEL, type Proxy, placementPatch } from './placement.ts'
import {
  collectionPath,
  createRequests,
  type MoveEnvironment,
  pathOf,
  pathOfObject,
  type Requests,
} from './requests.ts'

export interface TakeOverOptions extends AdoptedSettings {
  readonly goal: Goal
  /** The most nodes that move at the same time. */
  readonly atOnce: number
  readonly settleMs: number
  /** The name of this run in the Lease, for a run that begins meanwhile. */
  readonly holder: string
  /** The objects of node-proxy. */
  readonly manifests: readonly JsonObject[]
}

/** The result of a run. */
export interface TakeOverResult {
  readonly nodes: readonly NodeResult[]
  /** Why it stopped before the end; undefined: it is done. */
  readonly stopped: string | undefined
}

/** The DaemonSets of config/take-over. */
const CLEANERS = ['clean-up-kube-proxy', 'clean-up-node-proxy']

/** Reads what `nextClusterStep` decides by. `manifests`: the objects of node-proxy. */
export async function readCluster(
  requests: Requests,
  manifests: readonly JsonObject[],
): Promise<ClusterState> {
  const read = async (name: string) => requests.get(pathOf('DaemonSet', name))
  const state = (object: JsonObject | undefined) =>
    object === undefined ? undefined : daemonSetState(object)
  const sets: ProxySets = {
    kubeProxy: state(await read('kube-proxy')),
    nodeProxy: state(await read('node-proxy')),
  }
  const cleaners = await Promise.all(CLEANERS.map(read))
  const nodes = await requests.list(collectionPath('Node'))
  const pods = await requests.list(collectionPath('Pod'))
  const byNode = Map.groupBy(pods, (pod) => stringAt(pod, 'spec', 'nodeName'))
  const others = manifests.filter(({ kind }) => kind !== 'DaemonSet')
  const present = await Promise.all(others.map((one) => requests.get(pathOfObject(one))))
  return {
    ...sets,
    cleaners: cleaners.filter((one) => one !== undefined),
    missing: others.filter((_, index) => present[index] === undefined),
    made: present.filter((one) => one !== undefined).filter(isMade),
    nodes: nodes
      .filter((node) => !isForeignNode(node))
      .map((node) => nodeState(node, byNode.get(stringAt(node, 'metadata', 'name')) ?? [], sets)),
  }
}

/**
 * Moves a cluster to node-proxy, or back to kube-proxy. The next step follows from the objects alone, so a run can be
 * interrupted at any point and repeated. After the first node that gets worse no other move begins; those that have begun
 * are finished. Nodes that are not Ready are left as they are, and then the cluster is not finished.
 * @throws NP_ORCHCTL_TAKE_OVER where another run moves the cluster
 */
export async function runTakeOver(
  options: TakeOverOptions,
  environment: MoveEnvironment,
): Promise<TakeOverResult> {
  const lease = await acquireLease(options.holder, environment)
  try {
    return await runAlone(options, { ...environment, api: lease.api })
  } finally {
    await lease.release()
  }
}

async function runAlone(
  options: TakeOverOptions,
  environment: MoveEnvironment,
): Promise<TakeOverResult> {
  const requests = createRequests(environment)
  const results = new Map<string, NodeResult>()
  const waiting: Waiting = { text: '', since: 0 }
  for (;;) {
    environment.signal.throwIfAborted()
    const state = await readCluster(requests, options.manifests)
    const step = nextClusterStep(state, options.goal)
    if (step.kind === 'done') return { nodes: [...results.values()], stopped: undefined }
    if (step.kind === 'nodes') {
      const moved = await moveNodes(step.names, state, options, environment)
      for (const one of moved) if (one.outcome !== 'skipped') results.set(one.node, one)
      waiting.text = ''
      const worse = moved.find(({ outcome }) => outcome === 'back' || outcome === 'stuck')
      if (worse === undefined) continue
      const stopped = `node ${worse.node} got worse: ${worse.reason}`
      return { nodes: [...results.values()], stopped }
    }
    const text = clusterStepText(step)
    if (step.kind === 'skip') {
      const skipped = step.names.map((node): NodeResult => ({ node, outcome: 'skipped' }))
      return { nodes: [...results.values(), ...skipped], stopped: text }
    }
    if (text !== waiting.text) environment.notice(text)
    if (isLate(text, waiting, environment)) {
      const stopped = `not done within ${environment.timeoutMs / 1_000} s: ${text}`
      return { nodes: [...results.values()], stopped }
    }
    if (step.kind === 'roll-out') {
      const { clock, pollMs, signal } = environment
      await sleep(clock, pollMs, signal)
    } else await perform(step, state, options, requests)
  }
}

/** What the cluster is waiting for. */
interface Waiting {
  text: string
  since: number
}

/** Whether the same step has been repeated, or a roll-out has gone on, for the whole timeout. */
function isLate(
  text: string,
  waiting: Waiting,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): boolean {
  const now = clock.now()
  if (waiting.text !== text) {
    waiting.text = text
    waiting.since = now
  }
  return now - waiting.since >= timeoutMs
}

async function moveNodes(
  names: readonly string[],
  sets: ProxySets,
  { goal, atOnce, settleMs }: TakeOverOptions,
  environment: MoveEnvironment,
): Promise<readonly NodeResult[]> {
  const results: NodeResult[] = []
  // One iterator for all workers: each takes the next node that no other worker has taken.
  const queue = names.values()
  let isStopped = false
  const work = async (): Promise<void> => {
    for (const name of queue) {
      const options = { goal: goal.proxy, sets, settleMs }
      const result = await moveNode(name, options, environment)
      results.push(result)
      environment.notice(`node ${name}: ${result.outcome}`)
      if (result.outcome === 'back' || result.outcome === 'stuck') isStopped = true
      if (isStopped) return
    }
  }
  const settled = await Promise.allSettled(Array.from({ length: atOnce }, work))
  for (const one of settled) if (one.status === 'rejected') throw one.reason
  return results
}

type ActingStep = Exclude<ClusterStep, { readonly kind: 'done' | 'nodes' | 'roll-out' | 'skip' }>

async function perform(
  step: ActingStep,
  state: ClusterState,
  options: TakeOverOptions,
  requests: Requests,
): Promise<void> {
  switch (step.kind) {
    case 'place': {
      const { object } = daemonSetOf(state, step.of)
      await requests.patch(pathOf('DaemonSet', step.of), placementPatch(object, step.rule))
      return
    }
    case 'create':
      await requests.create(adapted(step.object, options))
      return
    case 'create-node-proxy':
      await requests.create(adapted(nodeProxyManifest(options.manifests), options))
      return
    case 'delete':
      await requests.remove(pathOfObject(step.object))
      return
    case 'label': {
      const labels = { [PROXY_LABEL]: step.label || null }
      await requests.patch(pathOf('Node', step.node), { metadata: { labels } })
    }
  }
}

/** @throws NP_ORCHCTL_USAGE where the manifests have no DaemonSet `node-proxy` */
export function nodeProxyManifest(manifests: readonly JsonObject[]): JsonObject {
  const found = manifests.find(
    (one) => one['kind'] === 'DaemonSet' && stringAt(one, 'metadata', 'name') === 'node-proxy',
  )
  if (found !== undefined) return found
  throw new NodeProxyError('NP_ORCHCTL_USAGE', 'the manifests hold no DaemonSet node-proxy', {
    hint: `give --manifests with the folder of node-proxy's objects in ${NAMESPACE}`,
  })
}

function daemonSetOf({ kubeProxy, nodeProxy }: ProxySets, of: Proxy) {
  const found = of === 'kube-proxy' ? kubeProxy : nodeProxy
  if (found !== undefined) return found
  throw new NodeProxyError('NP_ORCHCTL_TAKE_OVER', `DaemonSet ${of} has been deleted meanwhile`, {
    hint: 'create it again, and run the command again',
  })
}
