import { readdir, readFile, readlink } from 'node:fs/promises'
import type { ApiClient } from '../client/http/api-client.ts'
import type { RequestReporter } from '../client/http/api-failures.ts'
import { type ApiFailure, failureError } from '../client/http/failure.ts'
import { createReflector } from '../client/reflector/reflector.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { NodeProxyError } from '../lib/error.ts'
import type { Cidr, IpAddress } from '../lib/ip.ts'
import { arrayAt, isJsonObject, type JsonObject, stringAt } from '../lib/json.ts'
import type { Random } from '../lib/random.ts'
import type { ClusterResolver } from '../resources/pod-dns.ts'
import {
  type CommandOptions,
  type ContainerTarget,
  type LogOptions,
  type NodeStreams,
  type PodDialer,
  type PodTarget,
  type RunningCommand,
  StreamRefusal,
} from '../streams/node-streams.ts'
import type { Logger } from '../telemetry/logger.ts'
import { PodAddresses } from './network/pod-addresses.ts'
import { PodNetwork } from './network/pod-network.ts'
import { Prober } from './network/prober.ts'
import type { NodeIdentity } from './node-object.ts'
import { Registration } from './node-registration.ts'
import type { PodPlan } from './plan/pod-plan.ts'
import type { NodeTools, Variable } from './pods/node-tools.ts'
import { podPath } from './pods/pod-access.ts'
import { PodFleet } from './pods/pod-fleet.ts'
import { hasMark } from './process/launch.ts'
import { requireProgram } from './system/find-program.ts'
import { namespaceNamed } from './system/namespace.ts'
import { killProcess } from './system/run-command.ts'
import { openVolumeFolders } from './volumes/volume-folders.ts'

const PAUSE_MS = 10
const TIMEOUT_MS = 5_000

export interface NodeAgentOptions {
  /** A client with the permissions of a node agent: `src/auth/node/node-permits.ts`. */
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly nodeName: string
  /** The name of the node's network namespace for `ip netns`; undefined: that of this process. */
  readonly networkNamespace: string | undefined
  /** The node's addresses; the first one is the `hostIP` of its Pods. */
  readonly addresses: readonly IpAddress[]
  /** A network for Pods of each family: one or two. */
  readonly podCIDRs: readonly Cidr[]
  /** How Pods resolve names of the cluster. Default: as the node does. */
  readonly resolver?: ClusterResolver
  /** Labels of the Node besides the standard ones. */
  readonly labels: Readonly<Record<string, string>>
  /** The name of the Pods' bridge, which is created: `cbr0`. */
  readonly bridge: string
  /** The prefix of the names of Pods' network namespaces; namespaces with it are removed at the start. */
  readonly namespacePrefix: string
  /** Where the output of containers is kept. */
  readonly logFolder: string
  /** Where volumes are kept, for this node agent alone; it is emptied at the start and at the end. */
  readonly volumeFolder: string
  /** The number of Pods that schedulers may bind to the node; default 110. */
  readonly maxPods?: number
  /** Milliseconds that Pods have to end when the agent stops. Default 10,000. */
  readonly stopGraceMs?: number
  /** Milliseconds between two reads of the ConfigMaps and Secrets in volumes. Default 60,000. */
  readonly refreshMs?: number
  /** Called when the node is registered, and begins to run Pods. */
  readonly onRegistered?: () => void
  /** Receives the outcomes of requests that are repeated until they succeed. */
  readonly reporter: RequestReporter
  /** Receives errors of attempts that are repeated. */
  readonly onError: (error: unknown) => void
}

/** The agent of one node. */
export interface NodeAgent {
  /**
   * Registers the node and runs its Pods until `signal` is aborted, then ends
   * them.
   * @throws when the node's network cannot be created
   */
  run(signal: AbortSignal): Promise<void>
  /** The logs of its Pods, commands in them, and connections to them; none before and after it runs. */
  readonly streams: NodeStreams
}

const MAX_PODS = 110
const STOP_GRACE_MS = 10_000
const REFRESH_MS = 60_000

/** Runs the Pods of one node as processes in network namespaces. See the module's README. */
export function createNodeAgent(options: NodeAgentOptions): NodeAgent {
  const running = new RunningFleet()
  return { run: (signal) => runAgent(options, signal, running), streams: running }
}

async function runAgent(
  options: NodeAgentOptions,
  signal: AbortSignal,
  running: RunningFleet,
): Promise<void> {
  const { logger, stopGraceMs = STOP_GRACE_MS, onRegistered } = options
  await using stack = new AsyncDisposableStack()
  const tools = await openTools(options, stack)
  const node = identityOf(options)
  const registration = new Registration({ ...options, node })
  const heart = new AbortController()
  await registration.open(signal)
  if (signal.aborted) return
  logger.info({ node: node.nodeName, podCIDRs: node.podCIDRs }, 'the node is registered')
  onRegistered?.()
  const fleet = createFleet(options, node, tools)
  running.fleet = fleet
  const beating = registration.run(heart.signal, () => fleet.heard())
  stack.defer(async () => {
    await fleet.close(stopGraceMs)
    running.fleet = undefined
    heart.abort()
    await beating
    await registration.close()
  })
  await followPods(options, fleet, signal)
}

async function openTools(
  options: NodeAgentOptions,
  stack: AsyncDisposableStack,
): Promise<NodeTools> {
  const { client, clock, random, nodeName, bridge, podCIDRs, addresses, logFolder } = options
  const { onError, reporter, networkNamespace, namespacePrefix: prefix } = options
  const namespace = namespaceNamed(networkNamespace)
  const [nsenter, setpriv] = [await requireProgram('nsenter'), await requireProgram('setpriv')]
  const setsid = await requireProgram('setsid')
  const endAll = (): Promise<void> => endLeftovers(prefix, clock).catch(onError)
  await endAll()
  stack.defer(endAll)
  for (const name of ['unshare', 'mount']) await requireProgram(name)
  const folders = await openVolumeFolders(options.volumeFolder, onError)
  stack.defer(() => folders.close())
  const network = new PodNetwork({ clock, node: namespace, nodeName, bridge, prefix, podCIDRs })
  await network.open()
  stack.defer(() => network.close())
  const prober = new Prober(namespace)
  stack.defer(() => prober.close())
  return {
    clock,
    random,
    client,
    folders,
    network,
    prober,
    logFolder,
    namespacePrefix: prefix,
    refreshMs: options.refreshMs ?? REFRESH_MS,
    addresses: new PodAddresses(podCIDRs),
    programs: { nsenter, setpriv, setsid },
    nodeNamespace: networkNamespace,
    hostIPs: addresses,
    ...(options.resolver && { resolver: options.resolver }),
    services: (pod) => servicesOf(client, pod),
    reporter,
    onError,
  }
}

/** The variables of Services; none if the API server does not have this subresource. */
async function servicesOf(client: ApiClient, pod: PodPlan): Promise<readonly Variable[]> {
  const found = await client.get(`${podPath(pod)}/environment`)
  if (!found.ok && found.failure.code !== 404) throw failureError(found.failure, pod.key)
  const document = found.ok && isJsonObject(found.value) ? found.value : {}
  return arrayAt(document, 'env').map((entry) => {
    return { name: stringAt(entry, 'name'), value: stringAt(entry, 'value') }
  })
}

function identityOf(options: NodeAgentOptions): NodeIdentity {
  const { nodeName, addresses, podCIDRs, labels, maxPods = MAX_PODS } = options
  return { nodeName, addresses, podCIDRs, labels, maxPods }
}

function createFleet(options: NodeAgentOptions, node: NodeIdentity, tools: NodeTools): PodFleet {
  const { client, logger, onError } = options
  return new PodFleet({
    client,
    tools,
    onError,
    nodeName: node.nodeName,
    onRefused: (failure: ApiFailure, pod: string) => {
      logger.warn({ err: failureError(failure, pod) }, 'a write about a Pod was refused')
    },
  })
}

/** Watches the Pods of this node. */
async function followPods(
  { client, clock, random, nodeName, reporter }: NodeAgentOptions,
  fleet: PodFleet,
  signal: AbortSignal,
): Promise<void> {
  const fieldSelector = `spec.nodeName=${nodeName}`
  await createReflector<JsonObject, never>({
    client,
    clock,
    random,
    resource: { path: '/api/v1/pods', query: { fieldSelector } },
    decode: (raw) => ({ ok: true, value: isJsonObject(raw) ? raw : undefined }),
    onChanges: (changes) => fleet.changed(changes),
    onListed: () => undefined,
    onInvalid: () => undefined,
    onLost: () => undefined,
    onFailure: (failure, verb) => reporter.failed({ verb, resource: 'pods' }, failure),
    onConnected: () => reporter.succeeded('pods'),
  }).run(signal)
}

/** The streams of the Pods that are running. */
class RunningFleet implements NodeStreams {
  /** Undefined: the node agent is not running. */
  fleet: PodFleet | undefined

  async logs(
    target: ContainerTarget,
    options: LogOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Buffer> | StreamRefusal> {
    return this.fleet?.find(target)?.access.logs(target.container, options, signal) ?? absent()
  }

  async run(
    target: ContainerTarget,
    options: CommandOptions,
  ): Promise<RunningCommand | StreamRefusal> {
    const worker = this.fleet?.find(target)
    if (worker === undefined) return absent()
    if (worker.isRunning(target.container)) return worker.access.run(target.container, options)
    const what = JSON.stringify(target.container)
    return new StreamRefusal('invalid', `container ${what} does not run`)
  }

  async dialer(target: PodTarget): Promise<PodDialer | StreamRefusal> {
    return this.fleet?.find(target)?.access.dialer() ?? absent()
  }
}

function absent(): StreamRefusal {
  return new StreamRefusal(
    'absent',
    'the agent of the node does not know the pod yet, or the pod is gone',
  )
}

/**
 * Kills all processes with a mark of this prefix until none is left. These are processes of Pods that left
 * their process group and namespace, such as children of a container that was killed together with its node
 * agent. Other PID namespaces are left to their own node agents, and a node agent that itself runs in such a
 * Pod kills no process. Throws NP_NODEAGENT_LEFTOVER when that takes more than five seconds.
 */
export async function endLeftovers(prefix: string, clock: Clock): Promise<void> {
  const over = new AbortController()
  const ended = endAll(prefix, clock, over.signal).then(() => true)
  const late = sleep(clock, TIMEOUT_MS, over.signal).then(() => false)
  const isDone = await Promise.race([ended, late]).finally(() => over.abort())
  if (isDone) return
  throw new NodeProxyError(
    'NP_NODEAGENT_LEFTOVER',
    `processes that Pods of ${JSON.stringify(prefix)} left behind do not end`,
    { object: prefix },
  )
}

async function endAll(prefix: string, clock: Clock, signal: AbortSignal): Promise<void> {
  if (await isMarked('self', prefix)) return
  const own = await pidNamespace('self')
  while (!signal.aborted) {
    const marked: string[] = []
    for (const entry of await readdir('/proc')) {
      if (!/^\d+$/.test(entry) || !(await isMarked(entry, prefix))) continue
      if ((await pidNamespace(entry)) === own) marked.push(entry)
    }
    if (marked.length === 0) return
    for (const pid of marked) killProcess(Number(pid))
    await sleep(clock, PAUSE_MS, signal)
  }
}

/** Whether a process has a mark; false if it has ended or cannot be read. */
async function isMarked(pid: string, prefix: string): Promise<boolean> {
  return hasMark(await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => ''), prefix)
}

function pidNamespace(pid: string): Promise<string> {
  return readlink(`/proc/${pid}/ns/pid`).catch(() => '')
}
