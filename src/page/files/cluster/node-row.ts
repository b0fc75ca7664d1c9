import type { StatusResponseJson } from '../../../inspection/generated/inspection_pb.ts'
import type { NodeObject } from '../data/cluster-api.ts'
import { type Comparison, compareNodes, differencesOf } from './compare-nodes.ts'
import type { NodeFailure, NodeReading, NodeReadings } from './node-reading.ts'

/** The states of a node, the worst first. */
export const NODE_STATES = [
  'no answer',
  'not ready',
  'problems',
  'differs',
  'loading',
  'ready',
] as const

export type NodeRowState = (typeof NODE_STATES)[number]

/** One row of the table of nodes. */
export interface NodeRow {
  readonly name: string
  readonly state: NodeRowState
  /** What is wrong, the most fundamental first: one text for each. */
  readonly problems: readonly string[]
  /** How it differs from most nodes, or where the nodes disagree. */
  readonly differences: readonly string[]
  /** What was read last; undefined: nothing yet. */
  readonly status: StatusResponseJson | undefined
  readonly failure: NodeFailure | undefined
}

/** The comparison of all Nodes. */
export function compareAll(nodes: readonly NodeObject[], readings: NodeReadings): Comparison {
  const names = new Set(nodes.map(({ metadata }) => metadata.name))
  return compareNodes([...readings].filter(([name]) => names.has(name)))
}

/** The rows of all Nodes, in their order. */
export function nodeRows(
  nodes: readonly NodeObject[],
  readings: NodeReadings,
  comparison = compareAll(nodes, readings),
): readonly NodeRow[] {
  return nodes.map((node) => {
    const { name } = node.metadata
    const reading = readings.get(name)
    const differences = reading === undefined ? [] : differencesOf(reading, comparison)
    const ofObject = conditionProblems(node)
    const { status, failure } = reading ?? { status: undefined, failure: undefined }
    const problems = [
      ...(failure === undefined ? [] : [failure.message]),
      ...(status === undefined || failure !== undefined ? [] : statusProblems(status)),
      ...ofObject,
    ]
    const state = stateOf(reading, { ofObject, problems, differences })
    return { name, state, problems, differences, status, failure }
  })
}

interface Found {
  readonly ofObject: readonly string[]
  readonly problems: readonly string[]
  readonly differences: readonly string[]
}

function stateOf(
  reading: NodeReading | undefined,
  { ofObject, problems, differences }: Found,
): NodeRowState {
  if (reading?.failure !== undefined) return 'no answer'
  if (ofObject.length > 0) return 'not ready'
  if (reading?.status === undefined) return 'loading'
  if (reading.status.isReady !== true) return 'not ready'
  if (problems.length > 0) return 'problems'
  return differences.length > 0 ? 'differs' : 'ready'
}

/** What the Node object says of the machine. */
function conditionProblems({ status }: NodeObject): readonly string[] {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  if (ready === undefined || ready.status === 'True') return []
  const why = [ready.reason, ready.message].filter(Boolean).join(': ')
  return [`the Node is not Ready${why === '' ? '' : ` (${why})`}`]
}

/** What a node-proxy reports of itself. */
function statusProblems(status: StatusResponseJson): readonly string[] {
  const { reasons = [], warnings = [], refusals = [], problems = [] } = status
  return [
    ...reasons,
    ...warnings,
    ...refusals.map(({ object = '', message = '' }) => `the kernel refuses ${object}: ${message}`),
    ...problems.map(({ entry = '', message = '' }) => `${entry}: ${message}`),
  ]
}
