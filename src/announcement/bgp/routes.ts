import { isDeepEqual } from '../../lib/equal.ts'
import { type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import { MAX_BODY } from './messages.ts'
import { announcements, type RouteAttributes, type UpdateContext, withdrawals } from './update.ts'

/** Host routes by their address. */
export type Routes = ReadonlyMap<IpAddress, RouteAttributes>

/** The bodies of the UPDATEs after which a peer holds the desired routes: withdrawals first. */
export function updatesBetween(
  advertised: Routes,
  desired: Routes,
  context: UpdateContext,
): readonly Uint8Array[] {
  const gone = [...advertised.keys()].filter((ip) => !desired.has(ip))
  const changed = [...desired].filter(([ip, route]) => !isDeepEqual(advertised.get(ip), route))
  const withdrawn = FAMILIES.flatMap((family) =>
    withdrawals(ofFamily(gone, family), { family, maxOctets: MAX_BODY }),
  )
  // Routes with the same attributes share UPDATEs.
  const groups = Map.groupBy(changed, ([ip, route]) => JSON.stringify([familyOf(ip), route]))
  const announced = [...groups.values()].flatMap((group) => {
    const [[ip, route]] = group as [(typeof group)[number]]
    const ips = group.map(([one]) => one)
    return announcements(ips, route, context, { family: familyOf(ip), maxOctets: MAX_BODY })
  })
  return [...withdrawn, ...announced]
}

/** The routes of these families. */
export function routesOf(routes: Routes, families: readonly Family[]): Routes {
  return new Map([...routes].filter(([ip]) => families.includes(familyOf(ip))))
}

const FAMILIES: readonly Family[] = [4, 6]

function ofFamily(ips: readonly IpAddress[], family: Family): readonly IpAddress[] {
  return ips.filter((ip) => familyOf(ip) === family)
}
