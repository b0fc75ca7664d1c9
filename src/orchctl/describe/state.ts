import { diagnose } from '../../doctor/diagnose.ts'
import type { InspectedObject } from '../../doctor/evidence/inspected-object.ts'
import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import type { CommandContext } from '../command/context.ts'
import type { ApiResource } from '../discovery/api-resource.ts'
import { readEvidence } from '../doctor/read-evidence.ts'
import type { NodeFlags } from '../nodes/node-flags.ts'
import type { NodeLines } from '../nodes/node-inspection.ts'
import { type NodeAnswer, readLinesOfNodes } from '../nodes/read-nodes.ts'
import { listObjects } from '../reading/list-pages.ts'
import { unreadable } from './describer.ts'
import type { Cell, Row } from './rows.ts'

/** The flags of what only node-proxy knows. */
export interface StateFlags extends NodeFlags {
  readonly problems: boolean
  readonly nodes?: boolean
}

/** What the doctor can inspect. */
const INSPECTED: Readonly<Record<string, InspectedObject['kind']>> = {
  Service: 'service',
  Pod: 'pod',
  ServiceAccount: 'serviceaccount',
}

/** What is wrong with an object, and of a Service what the nodes have of it. */
export async function stateRows(
  { group, kind }: ApiResource,
  object: JsonObject,
  flags: StateFlags,
  context: CommandContext,
): Promise<readonly Row[]> {
  const inspected = group === '' ? INSPECTED[kind] : undefined
  if (inspected === undefined) return []
  const namespace = stringAt(object, 'metadata', 'namespace')
  const key = `${namespace}/${stringAt(object, 'metadata', 'name')}`
  const isOnNodes = flags.nodes === true && inspected === 'service'
  return [
    ['Nodes', isOnNodes ? await nodesCell(key, flags, context) : undefined],
    [
      'Problems',
      flags.problems ? await problems({ kind: inspected, key }, namespace, context) : undefined,
    ],
  ]
}

async function problems(
  inspected: InspectedObject,
  namespace: string,
  context: CommandContext,
): Promise<Cell> {
  const { evidence, unread } = await readEvidence(namespace, context)
  const lines = diagnose(evidence, inspected).flatMap(({ symptom, object, cause, remedy }) => [
    `${symptom}: ${object}: ${cause}`,
    `  remedy: ${remedy}`,
  ])
  const unchecked = [...unread.keys()].toSorted().join(', ')
  const rest = unchecked === '' ? [] : [`not checked, because they cannot be read: ${unchecked}`]
  const all = [...lines, ...rest]
  return all.length === 0 ? '<none>' : { lines: all }
}

export function nodeFlags({
  inspectionPort,
  inspectionCertificateAuthority,
}: NodeFlags): NodeFlags {
  return {
    ...(inspectionPort !== undefined && { inspectionPort }),
    ...(inspectionCertificateAuthority !== undefined && { inspectionCertificateAuthority }),
  }
}

async function nodesCell(
  service: string,
  flags: StateFlags,
  context: CommandContext,
): Promise<Cell> {
  const { api } = await context.session()
  const nodes = await listObjects(api, { path: '/api/v1/nodes' })
  const answers = await readLinesOfNodes(nodes, context, {
    ...nodeFlags(flags),
    ...{ path: '/inspection/v1/entries', query: { service } },
  })
  return { table: [['Node', 'Port', 'Backends', 'State'], ...answers.flatMap(entryRows)] }
}

function entryRows({ node, result }: NodeAnswer<NodeLines>): readonly (readonly string[])[] {
  if (!result.ok) return [[node, '', '', unreadable(result.error.message)]]
  if (result.lines.length === 0) return [[node, '', '', 'the Service is not known there']]
  return result.lines.map((entry) => {
    const backends = arrayAt(entry, 'backends').map(
      (one) => `${stringAt(one, 'ip')}:${scalarText(valueAt(one, 'port'))}`,
    )
    return [
      node,
      stringAt(entry, 'id'),
      String(backends.length),
      stringAt(entry, 'status') || 'served',
    ]
  })
}
