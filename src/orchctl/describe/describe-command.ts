import type { Command } from 'commander'
import { diagnose } from '../../doctor/diagnose.ts'
import { type InspectedObject, inspectedKind } from '../../doctor/evidence/inspected-object.ts'
import { shortDuration } from '../../lib/duration.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
  without,
} from '../../lib/json.ts'
import { type ApiResource, collectionPath } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { readSelected, selectedBy } from '../discovery/selected.ts'
import { type ReadEvidence, readEvidence } from '../doctor/read-evidence.ts'
import { addNodeFlags, type NodeFlags } from '../nodes/node-flags.ts'
import type { NodeLines } from '../nodes/node-inspection.ts'
import { type NodeAnswer, readLinesOfNodes, readNodes } from '../nodes/read-nodes.ts'
import { severalLines } from '../output/terminal-text.ts'
import type { Api } from '../session/api.ts'
import { type CommandContext, type Run, runs } from '../session/command-module.ts'
import {
  listObjects,
  listPages,
  objectsOf,
  PAGE_SIZE,
  type ScopeFlags,
} from '../session/list-pages.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import {
  describeBinding,
  describeConfigMap,
  describeRole,
  describeSecret,
  describeServiceAccount,
} from './accounts.ts'
import { type DescribedKind, type Related, unreadable } from './describer.ts'
import { describeNode } from './nodes.ts'
import { describePod } from './pods.ts'
import { byLabel, type Cell, pairs, type Row, rowsText } from './rows.ts'
import { describeEndpointSlice, describeEndpoints, describeService } from './services.ts'
import { describeDeployment, describeNetworkPolicy } from './workloads.ts'

/** How each kind is described. The keys are `GROUP/KIND`, with the names that Kubernetes has for the groups. */
const KINDS: Readonly<Record<string, DescribedKind>> = {
  '/ConfigMap': { describe: describeConfigMap },
  '/Endpoints': { describe: describeEndpoints },
  '/Namespace': { describe: (object) => [['Status', stringAt(object, 'status', 'phase')]] },
  '/Node': { describe: describeNode },
  '/Pod': { describe: describePod },
  '/Secret': { describe: describeSecret },
  '/Service': { describe: describeService },
  '/ServiceAccount': { describe: describeServiceAccount },
  'apps/Deployment': { describe: describeDeployment },
  'discovery.k8s.io/EndpointSlice': { describe: describeEndpointSlice },
  'networking.k8s.io/NetworkPolicy': { describe: describeNetworkPolicy },
  'rbac.authorization.k8s.io/ClusterRole': { describe: describeRole, hasEvents: false },
  'rbac.authorization.k8s.io/ClusterRoleBinding': { describe: describeBinding, hasEvents: false },
  'rbac.authorization.k8s.io/Role': { describe: describeRole, hasEvents: false },
  'rbac.authorization.k8s.io/RoleBinding': { describe: describeBinding, hasEvents: false },
}

/** How all other kinds are described. */
const OTHER: DescribedKind = { describe: rowsOfFields }

/** The flags that select what is shown in addition to the object itself. */
interface StateFlags extends NodeFlags {
  /** What `orchctl doctor` finds about the object. */
  readonly problems: boolean
  /** What the node-proxy of every node has of a Service. */
  readonly nodes?: boolean
}

interface DescribeFlags extends ScopeFlags, StateFlags {
  readonly showEvents: boolean
}

/** `orchctl describe`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('[operands...]', 'TYPE [NAME...], or TYPE/NAME ...')
    .option('-l, --selector <labels>', 'objects with these labels')
    .option('-A, --all-namespaces', 'objects of all namespaces')
    .option('--show-events', 'with events', true)
    .option('--no-show-events', 'without events')
    .option('--no-problems', 'without what orchctl doctor finds about it')
    .option('--nodes', 'of Services: what the node-proxy of every node has of them')
  runs<DescribeFlags>(addNodeFlags(command), context, describe)
}

/** Prints the description of each selected object. @returns exit code 1 if one of them was not found */
const describe: Run<DescribeFlags> = async (args, flags, context) => {
  const selected = await selectedBy(args, await openCatalogue(context))
  const readers = { related: relatedOf(context, flags), stateRows: createStateRows(flags, context) }
  let code: ExitCode = 0
  let count = 0
  for (const one of selected) {
    for (const object of await readSelected(one, flags, context)) {
      if (object === undefined) {
        code = 1
        continue
      }
      if (count > 0) context.print('\n\n')
      context.print(
        severalLines(await textOf(one.resource, object, { flags, context, ...readers })),
      )
      count++
    }
  }
  if (count === 0 && code === 0) context.notice('No resources found')
  return code
}

/** The rows with the state of one object; none for a kind that `orchctl doctor` does not inspect. */
type StateRows = (resource: ApiResource, object: JsonObject) => Promise<readonly Row[]>

/** What the description of every object needs. */
interface DescribeContext {
  readonly flags: DescribeFlags
  readonly context: CommandContext
  readonly related: Related
  readonly stateRows: StateRows
}

async function textOf(
  resource: ApiResource,
  object: JsonObject,
  { flags, context, related, stateRows }: DescribeContext,
): Promise<string> {
  const { api } = await context.session()
  const { describe: rowsOf, hasEvents = true } = describedKind(resource.group, resource.kind)
  const metadata = objectAt(object, 'metadata')
  const namespace = stringAt(metadata, 'namespace')
  const rows: readonly Row[] = [
    ['Name', stringAt(metadata, 'name')],
    ['Namespace', namespace === '' ? undefined : namespace],
    ['Labels', pairs(objectAt(metadata, 'labels'))],
    ['Annotations', pairs(objectAt(metadata, 'annotations'), ': ')],
    ...(await rowsOf(object, related)),
    ...(await stateRows(resource, object)),
    [
      'Events',
      flags.showEvents && hasEvents ? await eventsCell(api, object, related.now) : undefined,
    ],
  ]
  return rowsText(rows)
}

/**
 * Milliseconds to wait for the answer of a node-proxy. The time is short, because in some networks this machine cannot
 * reach the nodes.
 */
const NODE_TIMEOUT_MS = 3_000

/** Reads the objects and the node-proxy status that describers need in addition to the object. */
function relatedOf(context: CommandContext, flags: DescribeFlags): Related {
  return {
    now: Date.now(),
    async list(word, namespace, query = {}) {
      const { api } = await context.session()
      const resource = await (await openCatalogue(context)).named(word).catch(() => undefined)
      if (resource === undefined) return { ok: false, why: 'the server does not serve it' }
      const path = collectionPath(resource, namespace === '' ? undefined : namespace)
      const answer = await listPages(api, { path, query }, PAGE_SIZE)
      if (!answer.ok) return { ok: false, why: answer.failure.reason }
      return { ok: true, objects: answer.pages.flatMap(objectsOf) }
    },
    async proxyStatus(node) {
      const [answer] = await readNodes([node], context, {
        ...flags,
        path: '/inspection/v1/status',
        timeoutMs: NODE_TIMEOUT_MS,
      })
      if (answer?.result.ok === true) return answer.result
      return { ok: false, why: answer?.result.error.message ?? 'no answer' }
    },
  }
}

/** How a kind is described. `group` may also be the name that orch-server uses: `rbac.authorization.orch.io`. */
function describedKind(group: string, kind: string): DescribedKind {
  return KINDS[`${group.replace(/\.orch\.io$/, '.k8s.io')}/${kind}`] ?? OTHER
}

/** Fields of `metadata` that `rowsOfFields` leaves out: `textOf` shows them, except `managedFields`. */
const HEADER = ['name', 'namespace', 'labels', 'annotations', 'managedFields']

/** The rows for a kind without a describer: every field, sorted by its label. */
function rowsOfFields(object: JsonObject): readonly Row[] {
  const metadata = without(objectAt(object, 'metadata'), ...HEADER)
  return fieldRows({ ...object, metadata })
}

function fieldRows(fields: JsonObject): readonly Row[] {
  return Object.entries(fields)
    .map(([key, value]): Row => [title(key), cellOf(value)])
    .toSorted(byLabel)
}

function cellOf(value: Json): Cell {
  if (value === null) return '<none>'
  if (isJsonObject(value)) return { rows: fieldRows(value) }
  if (!Array.isArray(value)) return scalarText(value)
  if (!value.some(isJsonObject)) return value.map(scalarText)
  return {
    items: value.map((item) => (isJsonObject(item) ? fieldRows(item) : [['', cellOf(item)]])),
  }
}

/** The label for a field: `Holder Identity` for `holderIdentity`, `External IPs` for `externalIPs`. */
function title(key: string): string {
  if (key.includes('.') || key.includes('/')) return key
  const words = key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/^(?:uid|api|ip|dns)\b/, (word) => word.toUpperCase())
  return `${words[0]?.toUpperCase() ?? ''}${words.slice(1)}`
}

/** The number of Events per page of the list. */
const EVENTS_PAGE_SIZE = 500

/** The Events about an object, the newest last. `now`: milliseconds since the epoch. */
async function eventsCell(api: Api, object: JsonObject, now: number): Promise<Cell> {
  const [name = '', namespace = '', uid = ''] = ['name', 'namespace', 'uid'].map((key) => {
    return stringAt(object, 'metadata', key)
  })
  const kind = stringAt(object, 'kind')
  // In Events about a Node, the kubelet writes the name of the Node as its UID, so the real UID would match none.
  const hasUid = uid !== '' && kind !== 'Node'
  const selector = [
    `involvedObject.name=${name}`,
    ...(namespace === '' ? [] : [`involvedObject.namespace=${namespace}`]),
    `involvedObject.kind=${kind}`,
    ...(hasUid ? [`involvedObject.uid=${uid}`] : []),
  ]
  const inside = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  const call = { path: `/api/v1${inside}/events`, query: { fieldSelector: selector.join(',') } }
  const answer = await listPages(api, call, EVENTS_PAGE_SIZE)
  if (!answer.ok) return unreadable(answer.failure.reason)
  const events = answer.pages.flatMap((page) => (page['items'] as Json[] | undefined) ?? [])
  const sorted = events.filter(isJsonObject).sort(compareEvents)
  const rows = sorted.map((event) => [
    stringAt(event, 'type'),
    stringAt(event, 'reason'),
    ageOf(event, now),
    stringAt(event, 'source', 'component') || stringAt(event, 'reportingComponent'),
    stringAt(event, 'message').trim(),
  ])
  return { table: [['Type', 'Reason', 'Age', 'From', 'Message'], ...rows] }
}

/** The time of the last occurrence of an Event, RFC 3339; empty if the Event has no time. */
function timeOf(event: JsonObject): string {
  return (
    stringAt(event, 'series', 'lastObservedTime') ||
    stringAt(event, 'lastTimestamp') ||
    stringAt(event, 'eventTime') ||
    stringAt(event, 'metadata', 'creationTimestamp')
  )
}

/** Orders Events by the time of the last occurrence. Many clients report whole seconds, so by when they were written, too. */
export function compareEvents(a: JsonObject, b: JsonObject): number {
  return occurredAt(a) - occurredAt(b) || writtenAt(a) - writtenAt(b) || 0
}

/** The resourceVersion, NaN where it is no number. */
function writtenAt(event: JsonObject): number {
  return Number(stringAt(event, 'metadata', 'resourceVersion'))
}

/** That time in milliseconds since the epoch, 0 without a valid time: the fractions of seconds differ in length. */
function occurredAt(event: JsonObject): number {
  const time = Date.parse(timeOf(event))
  return Number.isNaN(time) ? 0 : time
}

/** The time since the last occurrence, `5m`; if there were several, with their number: `5m (x3 over 2h)`. */
function ageOf(event: JsonObject, now: number): string {
  const since = (text: string): string => {
    const time = Date.parse(text)
    return Number.isNaN(time) ? '<unknown>' : shortDuration((now - time) / 1_000)
  }
  const last = since(timeOf(event))
  const count = Number(
    scalarText(valueAt(event, 'series', 'count') ?? valueAt(event, 'count') ?? 1),
  )
  const first = stringAt(event, 'firstTimestamp') || stringAt(event, 'eventTime')
  return count > 1 ? `${last} (x${count} over ${since(first)})` : last
}

/**
 * Creates the function that makes the rows about the problems of an object and, for a Service, about what each node
 * has of it. One command reads the list of Nodes once, and the evidence for `diagnose` once per namespace.
 */
function createStateRows(flags: StateFlags, context: CommandContext): StateRows {
  const evidence = new Map<string, Promise<ReadEvidence>>()
  let nodes: Promise<readonly JsonObject[]> | undefined

  async function listNodes(): Promise<readonly JsonObject[]> {
    const { api } = await context.session()
    return listObjects(api, { path: '/api/v1/nodes' })
  }

  async function nodesCell(service: string): Promise<Cell> {
    nodes ??= listNodes()
    const answers = await readLinesOfNodes(await nodes, context, {
      ...flags,
      path: '/inspection/v1/entries',
      query: { service },
    })
    return { table: [['Node', 'Port', 'Backends', 'State'], ...answers.flatMap(entryRows)] }
  }

  return async ({ group, kind }, object) => {
    const inspected = group === '' ? inspectedKind(kind) : undefined
    if (inspected === undefined) return []
    const namespace = stringAt(object, 'metadata', 'namespace')
    const key = `${namespace}/${stringAt(object, 'metadata', 'name')}`
    const isOnNodes = flags.nodes === true && inspected === 'service'
    const read = (): Promise<ReadEvidence> =>
      evidence.getOrInsertComputed(namespace, () => readEvidence(namespace, context))
    return [
      ['Nodes', isOnNodes ? await nodesCell(key) : undefined],
      ['Problems', flags.problems ? problems({ kind: inspected, key }, await read()) : undefined],
    ]
  }
}

/** The problems that `diagnose` finds with an object, and the names of what could not be read for that. */
function problems(inspected: InspectedObject, { evidence, unread }: ReadEvidence): Cell {
  const lines = diagnose(evidence, inspected).flatMap(({ symptom, object, cause, remedy }) => [
    `${symptom}: ${object}: ${cause}`,
    `  remedy: ${remedy}`,
  ])
  const unchecked = [...unread.keys()].toSorted().join(', ')
  const rest = unchecked === '' ? [] : [`not checked, because they cannot be read: ${unchecked}`]
  const all = [...lines, ...rest]
  return all.length === 0 ? '<none>' : { lines: all }
}

/** The rows of the table of nodes for one node: one for each entry of the Service, or one with the reason for none. */
function entryRows({ node, result }: NodeAnswer<NodeLines>): readonly (readonly string[])[] {
  if (!result.ok) return [[node, '', '', unreadable(result.error.message)]]
  if (result.lines.length === 0) return [[node, '', '', 'the Service is not known there']]
  return result.lines.map((entry) => {
    const backends = String(arrayAt(entry, 'backends').length)
    return [node, stringAt(entry, 'id'), backends, stringAt(entry, 'status') || 'served']
  })
}
