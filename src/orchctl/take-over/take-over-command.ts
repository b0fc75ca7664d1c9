import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import type { Clock } from '../../lib/clock.ts'
import { parseDuration } from '../../lib/duration.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type JsonObject, stringAt, stringsAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { systemRandom } from '../../lib/random.ts'
import { readManifests } from '../../manifests/manifests.ts'
import { addNodeFlags, type NodeFlags } from '../nodes/node-flags.ts'
import { readNodes } from '../nodes/read-nodes.ts'
import { jsonText } from '../output/documents.ts'
import { formatAmong } from '../output/output-format.ts'
import { oneLine } from '../output/terminal-text.ts'
import { reviewAccess } from '../session/api.ts'
import { type CommandContext, type Run, runs } from '../session/command-module.ts'
import { type ExitCode, usageError } from '../usage/exit-code.ts'
import { absentNodes, type ClusterState, type Goal, unfinished } from './cluster-step.ts'
import type { NodeResult } from './move-node.ts'
import { plannedSteps } from './next-step.ts'
import { adapted } from './objects.ts'
import { NAMESPACE, type Proxy } from './placement.ts'
import { createProbes } from './probe.ts'
import { createRequests, type MoveEnvironment, pathOf, type Requests } from './requests.ts'
import {
  nodeProxyManifest,
  readCluster,
  runTakeOver,
  type TakeOverOptions,
  type TakeOverResult,
} from './run-take-over.ts'
import {
  CNI_CONFIG_MAPS,
  kubeProxySettings,
  type Surveyed,
  type SurveyFinding,
  survey,
} from './survey.ts'

const MANIFESTS = fileURLToPath(new URL('../../../config/kubernetes/node-proxy', import.meta.url))
const FELIX = '/apis/crd.projectcalico.org/v1/felixconfigurations/default'
const POLL_MS = 1_000
const MAX_AT_ONCE = 100

/** The machine's clock, whose timers keep the program running: between two polls it has nothing else to wait for. */
const WAITING_CLOCK: Clock = {
  now: () => Date.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms)
    return () => clearTimeout(timer)
  },
}

const ABOUT = `
Without --yes nothing is changed: the plan is printed, and what speaks against it. The move can be
interrupted and run again at any point: it goes on from what it finds. A node that gets worse goes
back to kube-proxy by itself, and no other one begins.

Without names all nodes move, and those that are added later get node-proxy, too.

A Lease excludes a second run. Nodes that are not Ready are skipped, and named at the end.

Rights (of a ClusterRole, unless kube-system is named):
  nodes, pods, daemonsets.apps, configmaps      get, list
  nodes                                         patch
  daemonsets.apps of kube-system                create, patch, delete
  pods of kube-system                           create, delete
  pods/log, pods/proxy of kube-system           get
  leases.coordination.k8s.io of kube-system     get, create, update, delete
  services, endpointslices.discovery.k8s.io     list, unless --no-probe
  serviceaccounts, configmaps of kube-system;
  clusterroles, clusterrolebindings             get, create, delete
  felixconfigurations.crd.projectcalico.org     get, with Calico

Exit code 0: done, or planned; 1: refused, a node has gone back or was skipped, or another run is under way.

Examples:
  orchctl take-over
  orchctl take-over --image registry.example/node-proxy:0.1.0 --yes
  orchctl take-over node-7 --yes
  orchctl take-over --at-once 5 --yes
  orchctl take-over --back --yes
`

interface TakeOverFlags extends NodeFlags {
  readonly back?: boolean
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly atOnce: string
  readonly timeout: string
  readonly settle: string
  readonly image?: string
  readonly manifests: string
  readonly status?: boolean
  readonly probe: boolean
  readonly output?: string
}

/** `orchctl take-over`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('[node...]', 'the nodes to move; none: the whole cluster')
    .option('--back', 'from node-proxy to kube-proxy')
    .option('--yes', 'do it')
    .option('--dry-run', 'only print the plan, even with --yes')
    .option('--at-once <count>', 'the most nodes that move at the same time', '1')
    .option('--timeout <duration>', 'the longest wait for a step of a node', '3m')
    .option('--settle <duration>', 'how long a node must be well before it counts', '15s')
    .option('--image <image>', 'the image of node-proxy, where its DaemonSet is created')
    .option('--manifests <folder>', "node-proxy's objects, for what the cluster lacks", MANIFESTS)
    .option('--status', 'also watch the state that the node-proxy of a node serves remotely')
    .option('--no-probe', 'do not connect to node ports of a node while it moves')
    .option('-o, --output <format>', 'json')
    .addHelpText('after', ABOUT)
  runs<TakeOverFlags>(addNodeFlags(command), context, takeOver)
}

const takeOver: Run<TakeOverFlags> = async (args, flags, context) => {
  formatAmong(flags.output, 'json')
  const names = args.length === 0 ? undefined : new Set(args)
  const goal: Goal = { proxy: flags.back === true ? 'kube-proxy' : 'node-proxy', names }
  const atOnce = countOf(flags.atOnce)
  const settleMs = durationOf(flags.settle, '--settle')
  const environment = await environmentOf(flags, context)
  const files = await readManifests({ filename: [flags.manifests] }, context.host.stdin)
  const manifests = files.map(({ object }) => object)
  const requests = createRequests(environment)
  const state = await readCluster(requests, manifests)
  const surveyed = await readSurveyed(state, { goal, manifests }, requests)
  const findings = [...survey(surveyed.facts), ...(await missingRights(goal, context))]
  const isRefused = findings.some(({ isRefusal }) => isRefusal)
  const given = { findings, state, goal }
  if (isRefused || flags.yes !== true || flags.dryRun === true) {
    return showPlan(given, isRefused, flags, context)
  }
  for (const one of findings) context.notice(findingText(one))
  const { clusterCidr } = surveyed
  const holder = holderOf(context)
  const options = { goal, atOnce, settleMs, holder, manifests, clusterCidr, image: flags.image }
  return showResult(await runTakeOver(options, environment), flags, context)
}

async function environmentOf(
  flags: TakeOverFlags,
  context: CommandContext,
): Promise<MoveEnvironment> {
  const { api } = await context.session()
  const status = async (node: JsonObject): Promise<readonly string[] | undefined> => {
    const request = { ...flags, path: '/inspection/v1/status' }
    const [answer] = await readNodes([node], context, request)
    if (answer?.result.ok === true) return stringsAt(answer.result.body, 'reasons')
    if (answer !== undefined) context.notice(`not checked: ${answer.result.error.message}`)
    return undefined
  }
  const environment: MoveEnvironment = {
    api,
    clock: WAITING_CLOCK,
    notice: (line) => context.notice(line),
    signal: context.host.signal,
    pollMs: POLL_MS,
    timeoutMs: durationOf(flags.timeout, '--timeout'),
    ...(flags.status === true ? { status } : {}),
  }
  if (!flags.probe) return environment
  const { clock, notice } = environment
  const requests = createRequests(environment)
  return {
    ...environment,
    startProbe: createProbes({ requests, clock, notice, everyMs: POLL_MS }),
  }
}

/** Names this run to people: `alice@bastion, process 4711, 3f9a01bc`. */
function holderOf({ host }: CommandContext): string {
  const user = host.env['USER'] ?? ''
  const machine = user === '' ? hostname() : `${user}@${hostname()}`
  return `${machine}, process ${process.pid}, ${systemRandom.uuid().slice(0, 8)}`
}

/** The facts of the survey, and the range of Pods that node-proxy's new ConfigMap gets. */
async function readSurveyed(
  state: ClusterState,
  { goal, manifests }: Pick<TakeOverOptions, 'goal' | 'manifests'>,
  requests: Requests,
): Promise<{ readonly facts: Surveyed; readonly clusterCidr: string }> {
  const daemonSets = await requests.list('/apis/apps/v1/daemonsets')
  const version = await requests.get('/version')
  const namespaces = new Set(daemonSets.map((one) => stringAt(one, 'metadata', 'namespace')))
  const ofCni = [...namespaces].flatMap((namespace) =>
    CNI_CONFIG_MAPS.map((name) => configMapPath(namespace, name)),
  )
  const paths = [pathOf('ConfigMap', 'node-proxy'), pathOf('ConfigMap', 'kube-proxy'), ...ofCni]
  const [ownConfigMap, ...others] = await Promise.all(paths.map((path) => requests.get(path)))
  const configMaps = [...others, ownConfigMap].filter((one) => one !== undefined)
  const hasCalico = daemonSets.some((one) => stringAt(one, 'metadata', 'name') === 'calico-node')
  const felix = hasCalico ? await requests.get(FELIX) : undefined
  const { kubeProxy, nodes } = state
  const clusterCidr =
    kubeProxy === undefined ? '' : kubeProxySettings(kubeProxy.object, configMaps).clusterCidr
  const toBeCreated = state.missing.find(({ kind }) => kind === 'ConfigMap')
  const config =
    ownConfigMap ?? (toBeCreated && adapted(toBeCreated, { clusterCidr, image: undefined }))
  const isBack = goal.proxy === 'kube-proxy'
  // Throws now, before anything is changed, if the manifests have no DaemonSet of node-proxy.
  if (!isBack) nodeProxyManifest(manifests)
  const known = new Set(nodes.map(({ name }) => name))
  const facts: Surveyed = {
    version: stringAt(version, 'gitVersion'),
    daemonSets,
    configMaps,
    felix,
    nodes,
    names: goal.names,
    absent: [...absentNodes(state, goal)],
    unknownNodes: [...(goal.names ?? [])].filter((name) => !known.has(name)),
    nodeProxyConfig: stringAt(config, 'data', 'config.yaml'),
    isBack,
  }
  return { facts, clusterCidr }
}

function configMapPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/${name}`
}

/** Rights without which a move would end halfway: `verb resource/subresource.group`, in kube-system but for nodes. */
const RIGHTS = [
  'patch nodes',
  'patch daemonsets.apps',
  'create pods',
  'delete pods',
  'get pods/log',
  'get leases.coordination.k8s.io',
  'create leases.coordination.k8s.io',
  'update leases.coordination.k8s.io',
  'delete leases.coordination.k8s.io',
]

async function missingRights(
  goal: Goal,
  context: CommandContext,
): Promise<readonly SurveyFinding[]> {
  const { api } = await context.session()
  const created = goal.proxy === 'node-proxy' ? ['create daemonsets.apps'] : []
  const reviews = await Promise.all(
    [...RIGHTS, ...created].map(async (right) => {
      const [verb = '', named = ''] = right.split(' ')
      const [path = '', ...group] = named.split('.')
      const [resource = '', subresource = ''] = path.split('/')
      const namespace = resource === 'nodes' ? '' : NAMESPACE
      const resourceAttributes = { verb, group: group.join('.'), resource, subresource, namespace }
      const review = await reviewAccess(api, 'SelfSubjectAccessReview', { resourceAttributes })
      return {
        right,
        isAllowed: (review['status'] as JsonObject | undefined)?.['allowed'] === true,
      }
    }),
  )
  return reviews.flatMap(({ right, isAllowed }): SurveyFinding[] =>
    isAllowed
      ? []
      : [
          {
            isRefusal: true,
            object: 'the user',
            found: `may not ${right}`,
            remedy: 'give the rights that orchctl take-over --help lists',
          },
        ],
  )
}

interface Planned {
  readonly findings: readonly SurveyFinding[]
  readonly state: ClusterState
  readonly goal: Goal
}

/** The plan, or why there is none. */
function showPlan(
  { findings, state, goal }: Planned,
  isRefused: boolean,
  flags: TakeOverFlags,
  context: CommandContext,
): ExitCode {
  const moving = new Set(isRefused ? [] : unfinished(state, goal))
  const absent = absentNodes(state, goal)
  const nodes = state.nodes
    .filter(({ name }) => moving.has(name) && !absent.has(name))
    .map((node) => ({ node: node.name, steps: [...plannedSteps(node, goal.proxy)] }))
  if (flags.output === 'json') {
    const isTerminal = context.host.stdout.isTTY === true
    context.print(jsonText({ findings: [...findings], nodes } as never, { isTerminal }))
    return isRefused ? 1 : 0
  }
  for (const one of findings) context.print(`${oneLine(findingText(one))}\n`)
  if (isRefused) return 1
  for (const { node, steps } of nodes) context.print(`${oneLine(`${node}: ${steps.join('; ')}`)}\n`)
  context.print(`${summaryText(nodes.length, goal.proxy, flags)}\n`)
  return 0
}

function summaryText(count: number, proxy: Proxy, flags: TakeOverFlags): string {
  if (count === 0) return `No node has to move: ${proxy} serves them.`
  const nodes = count === 1 ? '1 node moves' : `${count} nodes move`
  const bound = `at most ${flags.atOnce} at once`
  return `${nodes} to ${proxy}, ${bound}. Nothing has been changed; --yes does it.`
}

function findingText({ isRefusal, object, found, remedy }: SurveyFinding): string {
  return `${isRefusal ? 'refused' : 'note'}: ${object}: ${found}; ${remedy}`
}

/** @throws NP_ORCHCTL_TAKE_OVER where it stopped before the end */
function showResult(
  { nodes, stopped }: TakeOverResult,
  flags: TakeOverFlags,
  context: CommandContext,
): ExitCode {
  if (flags.output === 'json') {
    const isTerminal = context.host.stdout.isTTY === true
    context.print(
      jsonText({ nodes: [...nodes], stopped: stopped ?? null } as never, { isTerminal }),
    )
  } else {
    for (const one of nodes) context.print(`${oneLine(resultText(one))}\n`)
  }
  if (stopped === undefined) return 0
  throw new NodeProxyError('NP_ORCHCTL_TAKE_OVER', `stopped: ${stopped}`, {
    hint: 'mend that, and run the command again, or give --back: both go on from what is there',
  })
}

function resultText({ node, outcome, reason, connections }: NodeResult): string {
  const parts = [`${node}: ${outcome}`, ...(reason === undefined ? [] : [reason])]
  if (connections === undefined) return parts.join(': ')
  const { attempts, failed, held, reset } = connections
  const counts = `${attempts} new connections, ${failed} failed; ${held} held, ${reset} reset`
  return `${parts.join(': ')} (${counts})`
}

function countOf(text: string): number {
  const count = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= MAX_AT_ONCE) return count
  const hint = `write a number from 1 to ${MAX_AT_ONCE}`
  throw usageError(`--at-once ${quote(text)} is no number of nodes`, hint)
}

function durationOf(text: string, flag: string): number {
  const ms = parseDuration(text)
  if (ms !== undefined) return ms
  throw usageError(`${flag} ${quote(text)} is no duration`, 'write 30s or 3m')
}
