import type { ClusterEvent, ClusterStore } from '../../../cluster/cluster-store.ts'
import type { StaleFlows } from '../../../forwarding/entry.ts'
import type { Conntrack } from '../../../kernel/conntrack/conntrack.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { hostPort } from '../../../lib/ip.ts'
import type { ModeDriver } from '../../../modes/definition/mode-driver.ts'
import type { ModeView } from '../../../modes/definition/mode-view.ts'
import type { ObjectKey } from '../../../modes/mode.ts'
import { ifPresent } from '../../../modes/netfilter/if-present.ts'
import type { ModeInputs } from '../../../modes/netfilter/settings/settings.ts'
import { type DryRun, dryRun } from '../../../sync/dry-run.ts'
import type { NodeProxyConfiguration } from '../../config/fields/configuration.ts'
import { chooseModes } from '../../config/fields/mode-registry.ts'
import { flowFilters } from '../../engine/cut-flows.ts'
import type { ThisNode } from '../../engine/this-node.ts'
import type {
  NodePlan,
  PlannedCleanup,
  PlannedFlows,
  PlannedObject,
  PlannedService,
} from './node-plan.ts'

/** What a plan is made of. */
export interface PlanNodeParts {
  readonly drivers: readonly ModeDriver<NodeProxyConfiguration>[]
  readonly node: Pick<ThisNode, 'modeInputs' | 'context'>
  readonly nodeName: string
  /** The cluster as it is listed. */
  readonly store: ClusterStore
  /** The changes to plan. */
  readonly changes: readonly ClusterEvent[]
  readonly conntrack: Pick<Conntrack, 'count'>
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly isolations: NodePlan['isolations']
  readonly notes: readonly string[]
}

/** The most frontends whose flows are counted one by one; each requires a read of the conntrack table. */
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
      mode: driver.name,
      nodeName,
      ...objects,
      ...flows,
      cleanups: await cleanupsBeside(opened, parts),
      isolations: parts.isolations,
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
  const filters = flowFilters(flows, ownPorts)
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
    `${count} objects of this mode exist only in the process of node-proxy, and not in the kernel; they are not compared`,
  ]
}

/** A mode of this build, and the view of its objects in the kernel. */
interface OpenView {
  readonly driver: ModeDriver<NodeProxyConfiguration>
  readonly view: ModeView
}

/**
 * Opens the mode that a start would choose, and reads the kernel only. A start with `auto` tries what the kernel can
 * do, and a plan may not; so with `auto` this is the first mode that can be read and has no caveat. Throws the
 * error of the last mode that could not be opened.
 */
async function openView(
  drivers: readonly ModeDriver<NodeProxyConfiguration>[],
  inputs: ModeInputs<NodeProxyConfiguration>,
): Promise<OpenView> {
  const all = drivers.map(({ name }) => name)
  const names = chooseModes(inputs.config.mode, all)
  let refused: NodeProxyError | undefined
  for (const driver of drivers.filter(({ name }) => names.includes(name))) {
    try {
      const view = await driver.view(inputs)
      if (names.length === 1 || view.caveats.length === 0) return { driver, view }
      await view.close()
    } catch (error) {
      if (!(error instanceof NodeProxyError) || names.length === 1) throw error
      refused = error
    }
  }
  throw refused ?? new NodeProxyError('NP_NODEPROXY_MODE_UNAVAILABLE', 'no mode can work here')
}

/** The objects of a run that are in the kernel, by Service, with what they hold before and after it. */
async function plannedObjects(
  run: Pick<DryRun, 'change' | 'held' | 'ownersOf'>,
  view: ModeView,
): Promise<Pick<NodePlan, 'set' | 'unset' | 'services' | 'shared'>> {
  const set = run.change.set.filter((key) => !view.isInProcess(key))
  const unset = run.change.unset.filter((key) => !view.isInProcess(key))
  const actions = new Map<ObjectKey, PlannedObject['action']>([
    ...unset.map((key) => [key, 'remove'] as const),
    ...set.map((key) => [key, run.held.has(key) ? 'change' : 'add'] as const),
  ])
  const services = new Map<string, PlannedObject[]>()
  const shared: PlannedObject[] = []
  for (const [key, action] of [...actions].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const object = await plannedObject(key, action, view)
    const owners = new Set(run.ownersOf(key).map(serviceOf))
    for (const service of owners) {
      const objects = services.get(service) ?? []
      services.set(service, objects)
      objects.push(object)
    }
    if (owners.size === 0) shared.push(object)
  }
  const sorted = [...services].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return {
    set: set.length,
    unset: unset.length,
    shared,
    services: sorted.map(([service, objects]): PlannedService => ({ service, objects })),
  }
}

async function plannedObject(
  key: ObjectKey,
  action: PlannedObject['action'],
  view: ModeView,
): Promise<PlannedObject> {
  const { kind, family } = view.program.describe(key)
  const before = action === 'add' ? [] : await view.heldLines(key)
  const after = action === 'remove' ? [] : view.wantedLines(key)
  return {
    action,
    key,
    kind,
    family,
    ...(before !== undefined && before.length > 0 && { before }),
    ...(after.length > 0 && { after }),
  }
}

/** `shop/cart:http/TCP/4` → `shop/cart` */
function serviceOf(entry: string): string {
  return entry.slice(0, entry.indexOf(':'))
}
