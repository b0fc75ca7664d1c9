import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { CommandContext } from '../session/command-module.ts'
import {
  type NodeLines,
  type NodeRequest,
  type NodeResult,
  readDocument,
  readLines,
} from './node-inspection.ts'

/** The result of reading one node: what it answered, or why there is no answer. */
export interface NodeAnswer<T = NodeResult> {
  /** The name of the Node object. */
  readonly node: string
  readonly result: T
}

/**
 * Reads a document, such as `/inspection/v1/status`, from the node-proxy of each node. Reads up to `MAX_AT_ONCE` nodes
 * at the same time. The answers are in the order of `nodes`.
 * @throws NP_ORCHCTL_USAGE
 */
export function readNodes(
  nodes: readonly JsonObject[],
  context: CommandContext,
  request: NodeRequest,
): Promise<readonly NodeAnswer[]> {
  return readEach(nodes, (node) => readDocument(node, context, request))
}

/**
 * Reads a list, with one JSON object per line, from each node in the same way.
 * @throws NP_ORCHCTL_USAGE
 */
export function readLinesOfNodes(
  nodes: readonly JsonObject[],
  context: CommandContext,
  request: NodeRequest,
): Promise<readonly NodeAnswer<NodeLines>[]> {
  return readEach(nodes, (node) => readLines(node, context, request))
}

/** The most nodes that are read at the same time. */
const MAX_AT_ONCE = 16

async function readEach<T>(
  nodes: readonly JsonObject[],
  read: (node: JsonObject) => Promise<T>,
): Promise<readonly NodeAnswer<T>[]> {
  const answers: NodeAnswer<T>[] = []
  // One iterator for all workers: each takes the next node that no other worker has taken.
  const queue = nodes.entries()
  const work = async (): Promise<void> => {
    for (const [index, node] of queue) {
      answers[index] = { node: stringAt(node, 'metadata', 'name'), result: await read(node) }
    }
  }
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work))
  return answers
}
