import type { ApplyResult, Change, ObjectKey, Refusal } from '../mode.ts'
import { ofKind } from '../netfilter/object-key.ts'
import type { Estate } from './estate.ts'
import { servicesKey } from './member.ts'
import { kindOf } from './object.ts'
import { forgetWays } from './ways.ts'
import { type Outcome, writeServers } from './write-servers.ts'

/**
 * Writes one change, in an order in which no packet meets half of it: what packets
 * may need comes first (sets, their members, virtual servers), then what leads them
 * there (routes, chains), and what is not needed any more goes last.
 */
export async function applyChange({ set, unset }: Change, estate: Estate): Promise<ApplyResult> {
  const { sets, chains, transit } = estate
  const outcome: Outcome = { failed: new Map(), left: new Map() }
  const take = (failed: ReadonlyMap<ObjectKey, Refusal>) => {
    for (const [key, why] of failed) outcome.failed.set(key, why)
  }
  take(await sets.create(ofKind(set, 'set')))
  await writeServers({ set, unset }, estate, outcome)
  take(await transit.set(ofKind(set, 'route', 'relay')))
  const rules = await chains.apply({ set: ofKind(set, 'rule'), unset: ofKind(unset, 'rule') })
  take(rules.failed)
  take(await transit.tidy(ofKind(set, 'route')))
  take(await transit.unset(ofKind(unset, 'route', 'relay')))
  const needed = stillNeeded(outcome)
  const members = ofKind(unset, 'member')
  take(new Map([...needed].filter(([key]) => members.includes(key))))
  take(await sets.delete(members.filter((key) => !needed.has(key))))
  take(await sets.destroy(ofKind(unset, 'set')))
  await forgetWays(estate)
  const left = new Map([...outcome.left, ...(rules.left ?? [])])
  return { failed: outcome.failed, left, uncertain: rules.uncertain ?? false }
}

/** Members that say that a virtual server is ours which could not be removed. */
function stillNeeded({ failed }: Outcome): ReadonlyMap<ObjectKey, Refusal> {
  return new Map(
    [...failed]
      .filter(([key]) => kindOf(key) === 'vs')
      .flatMap(([server, why]) => servicesKey(server).map((key) => [key, why] as const)),
  )
}
