import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { CommandContext } from '../session/command-module.ts'
import {
  type NodeLines,
  type NodeRequest,
  type NodeResult,
  readDocument,
  readLines,
} from './node-inspection.ts'

/** Nodes that are read at the same time. */
const MAX_AT_ONCE = 16

/** What one node answered. */
export interface NodeAnswer<T = NodeResult> {
  readonly node: string
  readonly result: T
}

/** Reads a document of each node, some at the same time. The answers are in the order of the nodes. */
export function readNodes(
  nodes: readonly JsonObject[],
  context: CommandContext,
  request: NodeRequest,
): Promise<readonly NodeAnswer[]> {
  return ofEachNode(nodes, (node) => readDocument(node, context, request))
}

/** Reads a list of each node in the same way. */
export function readLinesOfNodes(
  nodes: readonly JsonObject[],
  context: CommandContext,
  request: NodeRequest,
): Promise<readonly NodeAnswer<NodeLines>[]> {
  return ofEachNode(nodes, (node) => readLines(node, context, request))
}

async function ofEachNode<T>(
  nodes: readonly JsonObject[],
  read: (node: JsonObject) => Promise<T>,
): Promise<readonly NodeAnswer<T>[]> {
  const answers: NodeAnswer<T>[] = []
  const queue = nodes.entries()
  const work = async (): Promise<void> => {
    for (const [index, node] of queue) {
      answers[index] = { node: stringAt(node, 'metadata', 'name'), result: await read(node) }
    }
  }
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work))
  return answers
}
