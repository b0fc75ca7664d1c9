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

const LIMIT = 500

const HEADER = ['name', 'namespace', 'labels', 'annotations', 'managedFields']

/** How each kind is described, by group and kind; groups have their Kubernetes names. */
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

const OTHER: DescribedKind = { describe: rowsOfFields }

interface DescribeFlags extends ScopeFlags, StateFlags {
  readonly showEvents: boolean
}

/** Milliseconds to wait for the node-proxy of a Node, which not every network lets this machine reach. */
const NODE_MS = 3_000

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

interface Given {
  readonly flags: DescribeFlags
  readonly context: CommandContext
  readonly related: Related
  readonly stateRows: StateRows
}

async function textOf(
  resource: ApiResource,
  object: JsonObject,
  { flags, context, related, stateRows }: Given,
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
        timeoutMs: NODE_MS,
      })
      if (answer?.result.ok === true) return answer.result
      return { ok: false, why: answer?.result.error.message ?? 'no answer' }
    },
  }
}

/** `group` may also be the name that orch-server uses, such as `rbac.authorization.orch.io`. */
function describedKind(group: string, kind: string): DescribedKind {
  return KINDS[`${group.replace(/\.orch\.io$/, '.k8s.io')}/${kind}`] ?? OTHER
}

/** The rows for a kind without a describer: every field, sorted by name. */
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

/** `holderIdentity` as `Holder Identity`, `externalIPs` as `External IPs`. */
function title(key: string): string {
  if (key.includes('.') || key.includes('/')) return key
  const words = key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/^(?:uid|api|ip|dns)\b/, (word) => word.toUpperCase())
  return `${words[0]?.toUpperCase() ?? ''}${words.slice(1)}`
}

/** The events about an object, the newest last. `now` in milliseconds since the epoch. */
async function eventsCell(api: Api, object: JsonObject, now: number): Promise<Cell> {
  const [name = '', namespace = '', uid = ''] = ['name', 'namespace', 'uid'].map((key) => {
    return stringAt(object, 'metadata', key)
  })
  const kind = stringAt(object, 'kind')
  // Kubelets report events about Nodes with their name as UID.
  const hasUid = uid !== '' && kind !== 'Node'
  const selector = [
    `involvedObject.name=${name}`,
    ...(namespace === '' ? [] : [`involvedObject.namespace=${namespace}`]),
    `involvedObject.kind=${kind}`,
    ...(hasUid ? [`involvedObject.uid=${uid}`] : []),
  ]
  const inside = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  const call = { path: `/api/v1${inside}/events`, query: { fieldSelector: selector.join(',') } }
  const answer = await listPages(api, call, LIMIT)
  if (!answer.ok) return unreadable(answer.failure.reason)
  const events = answer.pages.flatMap((page) => (page['items'] as Json[] | undefined) ?? [])
  const sorted = events.filter(isJsonObject).sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1))
  const rows = sorted.map((event) => [
    stringAt(event, 'type'),
    stringAt(event, 'reason'),
    ageOf(event, now),
    stringAt(event, 'source', 'component') || stringAt(event, 'reportingComponent'),
    stringAt(event, 'message').trim(),
  ])
  return { table: [['Type', 'Reason', 'Age', 'From', 'Message'], ...rows] }
}

function timeOf(event: JsonObject): string {
  return (
    stringAt(event, 'series', 'lastObservedTime') ||
    stringAt(event, 'lastTimestamp') ||
    stringAt(event, 'eventTime') ||
    stringAt(event, 'metadata', 'creationTimestamp')
  )
}

/** `5m`, `5m (x3 over 2h)`. */
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

/** The flags that select what is shown beside the object itself. */
interface StateFlags extends NodeFlags {
  readonly problems: boolean
  readonly nodes?: boolean
}

/** The rows about one object; empty for a kind without a description of its own. */
type StateRows = (resource: ApiResource, object: JsonObject) => Promise<readonly Row[]>

/**
 * Makes the rows about what is wrong with an object, and, for a Service, about what the nodes have of it. The cluster
 * is read once for all objects of a command.
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

function entryRows({ node, result }: NodeAnswer<NodeLines>): readonly (readonly string[])[] {
  if (!result.ok) return [[node, '', '', unreadable(result.error.message)]]
  if (result.lines.length === 0) return [[node, '', '', 'the Service is not known there']]
  return result.lines.map((entry) => {
    const backends = String(arrayAt(entry, 'backends').length)
    return [node, stringAt(entry, 'id'), backends, stringAt(entry, 'status') || 'served']
  })
}
