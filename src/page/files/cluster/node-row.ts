import type { StatusResponseJson } from '../../../inspection/generated/inspection_pb.ts'
import type { NodeObject } from '../data/cluster-api.ts'
import { type Comparison, compareNodes, differencesOf } from './compare-nodes.ts'
import type { NodeFailure, NodeReading, NodeReadings } from './node-reading.ts'

/** The states of a node in the order of their severity, the worst first. */
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
  /**
   * One text for each problem. First comes why the last request failed or, if it was answered, what the node-proxy
   * reports; then what the Node object reports.
   */
  readonly problems: readonly string[]
  /** One text for each field in which this node differs from most nodes, or for which no value has a majority. */
  readonly differences: readonly string[]
  /** The last status that was read, also if a later request failed. Undefined: none was read yet. */
  readonly status: StatusResponseJson | undefined
  /** Why the last request failed; undefined: it was answered, or there was none yet. */
  readonly failure: NodeFailure | undefined
}

/** Compares the readings of all `nodes`. A reading without a Node is ignored: the Node was deleted. */
export function compareAll(nodes: readonly NodeObject[], readings: NodeReadings): Comparison {
  const names = new Set(nodes.map(({ metadata }) => metadata.name))
  return compareNodes([...readings].filter(([name]) => names.has(name)))
}

/** The rows of the Nodes, in the order of `nodes`. */
export function nodeRows(
  nodes: readonly NodeObject[],
  readings: NodeReadings,
  comparison = compareAll(nodes, readings),
): readonly NodeRow[] {
  return nodes.map((node) => {
    const { name } = node.metadata
    const reading = readings.get(name)
    const differences = reading === undefined ? [] : differencesOf(reading, comparison)
    const objectProblems = conditionProblems(node)
    const { status, failure } = reading ?? { status: undefined, failure: undefined }
    const problems = [
      ...(failure === undefined ? [] : [failure.message]),
      ...(status === undefined || failure !== undefined ? [] : statusProblems(status)),
      ...objectProblems,
    ]
    const state = stateOf(reading, { objectProblems, problems, differences })
    return { name, state, problems, differences, status, failure }
  })
}

/** What was found about one node. */
interface Findings {
  /** The problems that the Node object reports; `problems` has them, too. */
  readonly objectProblems: readonly string[]
  readonly problems: readonly string[]
  readonly differences: readonly string[]
}

function stateOf(
  reading: NodeReading | undefined,
  { objectProblems, problems, differences }: Findings,
): NodeRowState {
  if (reading?.failure !== undefined) return 'no answer'
  if (objectProblems.length > 0) return 'not ready'
  if (reading?.status === undefined) return 'loading'
  if (reading.status.isReady !== true) return 'not ready'
  if (problems.length > 0) return 'problems'
  return differences.length > 0 ? 'differs' : 'ready'
}

/** The problem that condition Ready of the Node object reports; none if the object has no such condition. */
function conditionProblems({ status }: NodeObject): readonly string[] {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  if (ready === undefined || ready.status === 'True') return []
  const why = [ready.reason, ready.message].filter(Boolean).join(': ')
  return [`the Node is not Ready${why === '' ? '' : ` (${why})`}`]
}

/** The problems that a node-proxy reports in its own status. */
function statusProblems(status: StatusResponseJson): readonly string[] {
  const { reasons = [], warnings = [], refusals = [], problems = [] } = status
  return [
    ...reasons,
    ...warnings,
    ...refusals.map(({ object = '', message = '' }) => `the kernel refuses ${object}: ${message}`),
    ...problems.map(({ entry = '', message = '' }) => `${entry}: ${message}`),
  ]
}
