import { familyOf, type IpAddress } from '../../lib/ip.ts'
import type { Routing } from '../walk/routing.ts'

/**
 * The interface through which packets of a source arrive: the one through which replies to it leave. Empty if the
 * source is an address of this node; undefined without a route to it.
 */
export async function arrivalInterface(
  routing: Routing,
  src: IpAddress,
): Promise<string | undefined> {
  const answer = await routing.route({
    family: familyOf(src),
    protocol: 'TCP',
    src: undefined,
    dst: src,
    dstPort: 0,
    inInterface: undefined,
    mark: 0,
  })
  if (answer.kind === 'local') return ''
  return answer.kind === 'unicast' ? answer.outInterface : undefined
}
