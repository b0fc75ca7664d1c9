import type { ClusterEvent } from '../../../cluster/cluster-event.ts'
import type { ClusterStore } from '../../../cluster/cluster-store.ts'
import type { StaleFlows } from '../../../forwarding/entry.ts'
import type { Conntrack } from '../../../kernel/conntrack/conntrack.ts'
import { hostPort } from '../../../lib/ip.ts'
import type { ModeDriver } from '../../../modes/definition/mode-driver.ts'
import { ifPresent } from '../../../modes/netfilter/if-present.ts'
import { type DryRun, dryRun } from '../../../sync/dry-run.ts'
import type { NodeProxyConfiguration } from '../../config/fields/configuration.ts'
import type { ThisNode } from '../../wiring/node/this-node.ts'
import { type OpenView, openView } from './open-view.ts'
import type { NodePlan, PlannedCleanup, PlannedFlows } from './report/node-plan.ts'
import { plannedObjects } from './report/planned-objects.ts'

/** What a plan is made of. */
export interface PlanNodeParts {
  readonly drivers: readonly ModeDriver<NodeProxyConfiguration>[]
  readonly node: Pick<ThisNode, 'modeInputs' | 'context'>
  readonly nodeName: string
  /** The cluster as it is listed. */
  readonly store: ClusterStore
  /** What is to happen to it. */
  readonly changes: readonly ClusterEvent[]
  readonly conntrack: Pick<Conntrack, 'count'>
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly notes: readonly string[]
}

/** Frontends whose flows are counted one by one; each costs a reading of the conntrack table. */
const MAX_COUNTED = 100

/** What node-proxy would change on this node. Reads the kernel and writes nothing. */
export async function planNode(parts: PlanNodeParts): Promise<NodePlan> {
  const { drivers, node, nodeName, store, changes, now } = parts
  const opened = await openView(drivers, node.modeInputs)
  const { view, driver } = opened
  try {
    const nodeContext = () => node.context
    const run = await dryRun({ store, changes, nodeContext, now, mode: view })
    const objects = await plannedObjects(run, view)
    const flows = await staleFlows(run.flows, opened, parts.conntrack)
    const problems = run.table.problems()
    return {
      ...{ mode: driver.name, nodeName, ...objects, ...flows },
      cleanups: await cleanupsBeside(opened, parts),
      problems: problems.map(({ entry, code, message }) => ({ entry, code, message })),
      notes: [...parts.notes, ...processNotes(run, view)],
      caveats: view.caveats,
    }
  } finally {
    await view.close()
  }
}

async function staleFlows(
  flows: readonly StaleFlows[],
  { view: { ownPorts } }: OpenView,
  conntrack: PlanNodeParts['conntrack'],
): Promise<Pick<NodePlan, 'flows' | 'flowCount'>> {
  const filters = flows.map((flow) => (flow.keep.size > 0 ? { ...flow, ownPorts } : flow))
  const flowCount = filters.length === 0 ? 0 : await conntrack.count(filters)
  if (flowCount === 0 || filters.length > MAX_COUNTED) return { flowCount, flows: [] }
  const counted: PlannedFlows[] = []
  for (const filter of filters) {
    const count = await conntrack.count([filter])
    const { ip, port, protocol } = filter
    const at = ip === 'node' ? `node:${port}` : hostPort(ip, port)
    if (count > 0) counted.push({ frontend: `${at}/${protocol}`, count })
  }
  return { flowCount, flows: counted }
}

/** What the other modes have in the kernel; it is removed when this one is complete. */
async function cleanupsBeside(
  { driver: chosen }: OpenView,
  { drivers, node }: Pick<PlanNodeParts, 'drivers' | 'node'>,
): Promise<readonly PlannedCleanup[]> {
  const cleanups: PlannedCleanup[] = []
  for (const driver of drivers) {
    if (driver === chosen || driver.leftovers(() => node.modeInputs) === undefined) continue
    const view = await driver.view(node.modeInputs)
    try {
      await ifPresent(async () => {
        const objects: Record<string, number> = {}
        for (const key of (await view.observe()).keys()) {
          const { kind } = view.program.describe(key)
          objects[kind] = (objects[kind] ?? 0) + 1
        }
        if (Object.keys(objects).length > 0)
          cleanups.push({ mode: driver.name, drains: view.drains, objects })
      })
    } finally {
      await view.close()
    }
  }
  return cleanups
}

function processNotes({ change }: DryRun, view: OpenView['view']): readonly string[] {
  const keys = [...change.set, ...change.unset]
  const count = keys.filter((key) => view.isInProcess(key)).length
  if (count === 0) return []
  return [
    `${count} objects of this mode are in the process of node-proxy and not in the kernel; they are not compared`,
  ]
}
