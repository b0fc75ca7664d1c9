import type { ApplyResult, Change, Digest, ObjectKey, Refusal } from '../mode.ts'
import { memberOf, ofKind } from '../netfilter/object-key.ts'
import type { Estate, Redirect } from './estate.ts'
import type { Route } from './route.ts'

interface Outcome {
  readonly failed: Map<ObjectKey, Refusal>
  readonly left: Map<ObjectKey, Digest>
  uncertain: boolean
}

/**
 * Writes one change, in an order in which no packet meets half of it: what is not served any
 * more is led here no longer; the forwarder learns all at once, since a door may go from one
 * Service to another; then what leads packets to it, and what is not needed goes last.
 */
export async function applyChange(change: Change, estate: Estate): Promise<ApplyResult> {
  const outcome: Outcome = { failed: new Map(), left: new Map(), uncertain: false }
  const { redirect } = estate
  if (redirect) await closeDoors(change, redirect, outcome)
  take(outcome, await tell(routesIn(change, estate), estate))
  if (redirect) await lead(change, redirect, outcome)
  return outcome
}

function routesIn(
  { set, unset }: Change,
  { program }: Estate,
): ReadonlyMap<ObjectKey, Route | undefined> {
  return new Map([
    ...ofKind(set, 'entry').map((key) => [key, program.routeOf(key)] as const),
    ...ofKind(unset, 'entry').map((key) => [key, undefined] as const),
  ])
}

async function tell(
  routes: ReadonlyMap<ObjectKey, Route | undefined>,
  { ledger }: Estate,
): Promise<ReadonlyMap<ObjectKey, Refusal>> {
  if (routes.size === 0) return new Map()
  if (ledger === undefined) throw new TypeError('there is no forwarder to tell routes')
  return ledger.tell(routes)
}

async function closeDoors(
  { set, unset }: Change,
  { sets }: Redirect,
  outcome: Outcome,
): Promise<void> {
  take(outcome, await sets.create(ofKind(set, 'set')))
  take(outcome, await sets.delete(ofKind(unset, 'member').filter(leads)))
}

async function lead(
  { set, unset }: Change,
  { sets, routes, chains }: Redirect,
  outcome: Outcome,
): Promise<void> {
  const added = ofKind(set, 'member')
  const joining = [...added.filter((key) => !leads(key)), ...added.filter(leads)]
  take(outcome, await sets.add(joining))
  take(outcome, await routes.set(ofKind(set, 'route')))
  const rules = await chains.apply({ set: ofKind(set, 'rule'), unset: ofKind(unset, 'rule') })
  take(outcome, rules.failed)
  for (const [key, digest] of rules.left ?? []) outcome.left.set(key, digest)
  outcome.uncertain = rules.uncertain ?? false
  take(outcome, await routes.tidy(ofKind(set, 'route')))
  take(outcome, await routes.unset(ofKind(unset, 'route')))
  take(outcome, await sets.delete(ofKind(unset, 'member').filter((key) => !leads(key))))
  take(outcome, await sets.destroy(ofKind(unset, 'set')))
}

function take({ failed }: Outcome, refused: ReadonlyMap<ObjectKey, Refusal>): void {
  for (const [key, why] of refused) failed.set(key, why)
}

/** Members of SERVICES lead packets here; the other sets say what becomes of those. */
function leads(key: ObjectKey): boolean {
  return memberOf(key).set.endsWith('-SERVICES')
}
