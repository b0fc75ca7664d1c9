import { diagnose } from '../../doctor/diagnose.ts'
import { type InspectedObject, inspectedKind } from '../../doctor/evidence/inspected-object.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import type { CommandContext } from '../command/context.ts'
import type { ApiResource } from '../discovery/api-resource.ts'
import { type ReadEvidence, readEvidence } from '../doctor/read-evidence.ts'
import { type NodeFlags, nodeFlagsOf } from '../nodes/node-flags.ts'
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

/** The rows about one object; none for a kind of which nothing more is known. */
export type StateRows = (resource: ApiResource, object: JsonObject) => Promise<readonly Row[]>

/**
 * What is wrong with objects, and of Services what the nodes have of them. What is read of the cluster serves all
 * objects of one command.
 */
export function createStateRows(flags: StateFlags, context: CommandContext): StateRows {
  const evidence = new Map<string, Promise<ReadEvidence>>()
  let nodes: Promise<readonly JsonObject[]> | undefined

  async function listNodes(): Promise<readonly JsonObject[]> {
    const { api } = await context.session()
    return listObjects(api, { path: '/api/v1/nodes' })
  }

  async function nodesCell(service: string): Promise<Cell> {
    nodes ??= listNodes()
    const answers = await readLinesOfNodes(await nodes, context, {
      ...nodeFlagsOf(flags),
      ...{ path: '/inspection/v1/entries', query: { service } },
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
