import { type RowRules, type Selection, selectRows } from '../grid/selection.ts'
import { NODE_STATES, type NodeRow } from './node-row.ts'

export type NodeSortKey =
  | 'name'
  | 'state'
  | 'problem'
  | 'mode'
  | 'waiting'
  | 'p50'
  | 'p99'
  | 'drift'
  | 'services'
  | 'entries'
  | 'version'

/** What is wrong stands first. */
export const ALL_NODES: Selection<NodeSortKey> = {
  ...{ text: '', onlyProblems: false },
  ...{ sort: 'state', isDescending: false },
}

/** Columns that hold words. */
export const NODE_TEXTS: ReadonlySet<string> = new Set<NodeSortKey>([
  ...(['name', 'state', 'problem', 'mode', 'version'] as const),
])

const RULES: RowRules<NodeRow, NodeSortKey> = {
  values: {
    name: ({ name }) => name,
    state: ({ state }) => NODE_STATES.indexOf(state),
    problem: (row) => firstWords(row),
    mode: ({ status }) => status?.mode ?? '',
    waiting: ({ status }) => Number(status?.waitingMs ?? 0),
    p50: ({ status }) => status?.programming?.p50Ms ?? -1,
    p99: ({ status }) => status?.programming?.p99Ms ?? -1,
    drift: ({ status }) => Number(status?.driftRepaired ?? 0),
    services: ({ status }) => status?.services ?? -1,
    entries: ({ status }) => status?.entries ?? -1,
    version: ({ status }) => status?.version ?? '',
  },
  textOf: ({ name, state, problems, differences, status }) =>
    [name, state, status?.mode, status?.version, ...problems, ...differences].join(' '),
  isProblem: isUnwell,
}

/** The nodes that a selection shows. */
export function selectNodes(
  rows: readonly NodeRow[],
  selection: Selection<NodeSortKey>,
): readonly NodeRow[] {
  return selectRows(rows, selection, RULES)
}

/** Whether an operator has to look at a node. */
export function isUnwell({ state }: NodeRow): boolean {
  return state !== 'ready' && state !== 'loading'
}

/** What is most wrong with a node, or where it differs. */
export function firstWords({ problems, differences }: NodeRow): string {
  const [first = ''] = [...problems, ...differences]
  const more = problems.length + differences.length - 1
  return more > 0 ? `${first} (and ${more} more)` : first
}
