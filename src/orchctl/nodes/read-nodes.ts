import type { Query } from '../../client/http/query.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { CommandContext } from '../session/command-module.ts'
import type { NodeFlags } from './node-flags.ts'
import {
  type NodeInspection,
  type NodeLines,
  type NodeResult,
  openNodeInspection,
} from './node-inspection.ts'

/** Nodes that are read at the same time. */
const MAX_AT_ONCE = 16

/** Milliseconds for the document of one node, after the connection is made. */
const TIMEOUT_MS = 20_000

/** What one node answered. */
export interface NodeAnswer<T = NodeResult> {
  readonly node: string
  readonly result: T
}

export interface ReadNodesOptions extends NodeFlags {
  /** `/inspection/v1/facts` */
  readonly path: string
  readonly query?: Query
  /** Milliseconds for each node, 20 s unless given. */
  readonly timeoutMs?: number
}

/** Reads a document of each node, some at the same time. The answers are in the order of the nodes. */
export function readNodes(
  nodes: readonly JsonObject[],
  context: CommandContext,
  options: ReadNodesOptions,
): Promise<readonly NodeAnswer[]> {
  const { path, query } = options
  return ofEachNode(nodes, context, options, (inspection) => inspection.get(path, query))
}

/** Reads a list of each node in the same way. */
export function readLinesOfNodes(
  nodes: readonly JsonObject[],
  context: CommandContext,
  options: ReadNodesOptions,
): Promise<readonly NodeAnswer<NodeLines>[]> {
  const { path, query } = options
  return ofEachNode(nodes, context, options, (inspection) => inspection.lines(path, query))
}

type Failed = Extract<NodeResult, { readonly ok: false }>

async function ofEachNode<T>(
  nodes: readonly JsonObject[],
  context: CommandContext,
  options: ReadNodesOptions,
  read: (inspection: NodeInspection) => Promise<T>,
): Promise<readonly NodeAnswer<T | Failed>[]> {
  const answers: NodeAnswer<T | Failed>[] = []
  const { timeoutMs = TIMEOUT_MS, ...flags } = options
  const queue = nodes.entries()
  const work = async (): Promise<void> => {
    for (const [index, node] of queue) {
      const opened = () => openNodeInspection(node, context, { ...flags, timeoutMs })
      const name = stringAt(node, 'metadata', 'name')
      answers[index] = { node: name, result: await readNode(opened, read) }
    }
  }
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work))
  return answers
}

/** Errors that concern one node, so that the other nodes are still read. */
const OF_ONE_NODE: ReadonlySet<string> = new Set(['NP_ORCHCTL_NODE', 'NP_ORCHCTL_NODE_UNREACHABLE'])

async function readNode<T>(
  open: () => Promise<NodeInspection>,
  read: (inspection: NodeInspection) => Promise<T>,
): Promise<T | Failed> {
  try {
    const inspection = await open()
    try {
      return await read(inspection)
    } finally {
      await inspection.close()
    }
  } catch (error) {
    if (error instanceof NodeProxyError && OF_ONE_NODE.has(error.code)) return { ok: false, error }
    throw error
  }
}
