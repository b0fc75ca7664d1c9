import type { ModeView } from '../../../../modes/definition/mode-view.ts'
import type { ObjectKey } from '../../../../modes/mode.ts'
import type { DryRun } from '../../../../sync/dry-run.ts'
import type { NodePlan, PlannedObject, PlannedService } from './node-plan.ts'

/** The objects of a run that are in the kernel, by Service, with what they hold before and after it. */
export async function plannedObjects(
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
    ...{ set: set.length, unset: unset.length, shared },
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
    ...{ action, key, kind, family },
    ...(before !== undefined && before.length > 0 && { before }),
    ...(after.length > 0 && { after }),
  }
}

/** `shop/cart:http/TCP/4` → `shop/cart` */
function serviceOf(entry: string): string {
  return entry.slice(0, entry.indexOf(':'))
}
