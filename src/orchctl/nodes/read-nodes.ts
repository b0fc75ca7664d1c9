import type { Query } from '../../client/http/query.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { CommandContext } from '../command/context.ts'
import type { NodeFlags } from './node-flags.ts'
import { type NodeResult, openNodeInspection } from './node-inspection.ts'

/** Nodes that are read at the same time. */
const MAX_AT_ONCE = 16

/** Milliseconds for one node, from connecting to the whole document. */
const TIMEOUT_MS = 20_000

/** What one node answered. */
export interface NodeDocument {
  readonly node: string
  readonly result: NodeResult
}

export interface ReadNodesOptions extends NodeFlags {
  /** `/inspection/v1/facts` */
  readonly path: string
  readonly query?: Query
  /** Milliseconds for each node, 20 s unless given. */
  readonly timeoutMs?: number
}

/** Reads a document of each node, some at the same time. The answers are in the order of the nodes. */
export async function readNodes(
  nodes: readonly JsonObject[],
  context: CommandContext,
  options: ReadNodesOptions,
): Promise<readonly NodeDocument[]> {
  const answers: NodeDocument[] = []
  const queue = nodes.entries()
  const work = async (): Promise<void> => {
    for (const [index, node] of queue) {
      const name = stringAt(node, 'metadata', 'name')
      answers[index] = { node: name, result: await readNode(node, context, options) }
    }
  }
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work))
  return answers
}

async function readNode(
  node: JsonObject,
  context: CommandContext,
  { path, query, timeoutMs = TIMEOUT_MS, ...flags }: ReadNodesOptions,
): Promise<NodeResult> {
  try {
    const inspection = await openNodeInspection(node, context, { ...flags, timeoutMs })
    try {
      return await inspection.get(path, query)
    } finally {
      await inspection.close()
    }
  } catch (error) {
    if (error instanceof NodeProxyError && error.code === 'NP_ORCHCTL_NODE')
      return { ok: false, error }
    throw error
  }
}
