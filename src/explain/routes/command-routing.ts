import { parseIp } from '../../lib/ip.ts'
import { parseObjects, textOf } from '../host/read-json.ts'
import type { CommandOutput, RunCommand } from '../host/run-command.ts'
import type { RouteAnswer, RouteQuery, Routing } from '../walk/routing.ts'
import { type RouteListings, readRoutes } from './read-routes.ts'
import { answerOfType, deadEndOf, NO_ROUTE, type TypedDeadEnd } from './table-routing.ts'

/**
 * Queries routes by `ip route get`, which applies policy rules, rp_filter and forwarding as for a packet. Why there is
 * none is looked up in the listed routes.
 */
export function commandRouting(run: RunCommand): Routing {
  let listings: Promise<RouteListings> | undefined
  return {
    async route(query) {
      const output = await run('ip', commandOf(query))
      if (output.status === 0) return answerOf(output, query)
      listings ??= readRoutes(run)
      return refusal(output.stderr.trim(), query, deadEndOf(await listings, query))
    },
  }
}

/** `ip -j route get DST from SRC iif DEV mark N`. */
export function commandOf({ family, src, dst, inInterface, mark }: RouteQuery): readonly string[] {
  return [
    ...['-j', `-${family}`, 'route', 'get', dst],
    ...(src === undefined ? [] : ['from', src]),
    ...(inInterface === undefined ? [] : ['iif', inInterface]),
    ...(mark === 0 ? [] : ['mark', String(mark)]),
  ]
}

function answerOf({ stdout }: CommandOutput, query: RouteQuery): RouteAnswer {
  const route = parseObjects(stdout)[0]
  if (route === undefined) return { kind: 'uncertain', reason: 'the kernel gave no route' }
  const source = parseIp(textOf(route, 'prefsrc') ?? '')
  const type = textOf(route, 'type') ?? 'unicast'
  if (type === 'local' || type === 'broadcast' || type === 'anycast')
    return { kind: 'local', source }
  const outInterface = textOf(route, 'dev')
  if (type !== 'unicast' || outInterface === undefined) return answerOfType(type, query.family)
  return { kind: 'unicast', outInterface, gateway: parseIp(textOf(route, 'gateway') ?? ''), source }
}

/** Names of errors as `ip` prints them, after `RTNETLINK answers: `. */
function refusal(
  stderr: string,
  { family, inInterface, src }: RouteQuery,
  found: TypedDeadEnd | undefined,
): RouteAnswer {
  if (stderr.endsWith('Invalid cross-device link')) {
    const reason = `rp_filter of ${inInterface}: answers to ${src} leave elsewhere`
    return { kind: 'dropped', reason }
  }
  if (found !== undefined && ERRORS[found.type]?.test(stderr) === true) {
    return answerOfType(found.type, family, found)
  }
  if (stderr.endsWith('Invalid argument')) {
    const reason = `a source or destination that is impossible on ${inInterface ?? 'this node'} (martian)`
    return { kind: 'dropped', reason }
  }
  if (/(unreachable|No route to host|Permission denied)$/.test(stderr)) return NO_ROUTE
  return { kind: 'uncertain', reason: 'the kernel did not answer the query of a route' }
}

/** How the kernel refuses the query of a route that leads nowhere, by its type. */
const ERRORS: Readonly<Record<string, RegExp>> = {
  unreachable: /(No route to host|Network is unreachable)$/,
  prohibit: /Permission denied$/,
  blackhole: /Invalid argument$/,
}
