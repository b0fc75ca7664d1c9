import type { ServiceKey } from '../resources/types.ts'
import { compileService } from './compile.ts'
import type { TableDelta } from './entry.ts'
import type { ClusterView, NodeContext } from './node-context.ts'
import { clusterIPsOf } from './served.ts'
import type { ForwardingTable } from './table.ts'

/** The inputs for compiling a Service. */
export interface Compilation {
  readonly cluster: ClusterView
  readonly node: NodeContext
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Compiles one Service, and replaces its entries in the table; a deleted Service loses them. */
export function recompile(
  table: ForwardingTable,
  key: ServiceKey,
  { cluster, node, now }: Compilation,
): TableDelta {
  const entries = compileService(key, cluster, node)
  return table.replace(key, entries, now, clusterIPsOf(key, cluster))
}
