import { parseIp } from '../../lib/ip.ts'
import type { RouteAnswer, RouteQuery, Routing } from '../walk/routing.ts'
import { parseObjects, textOf } from './read-json.ts'
import type { CommandOutput, RunCommand } from './run-command.ts'

/** Queries routes by `ip route get`, which applies policy rules, rp_filter and forwarding as for a packet. */
export function commandRouting(run: RunCommand): Routing {
  return { route: async (query) => answerOf(await run('ip', commandOf(query)), query) }
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

/** What the kernel answered. */
export function answerOf(
  { status, stdout, stderr }: CommandOutput,
  query: RouteQuery,
): RouteAnswer {
  if (status !== 0) return refusal(stderr.trim(), query)
  const route = parseObjects(stdout)[0]
  if (route === undefined) return { kind: 'uncertain', reason: 'the kernel gave no route' }
  const source = parseIp(textOf(route, 'prefsrc') ?? '')
  const type = textOf(route, 'type') ?? 'unicast'
  if (type === 'local' || type === 'broadcast' || type === 'anycast')
    return { kind: 'local', source }
  const outInterface = textOf(route, 'dev')
  if (type !== 'unicast' || outInterface === undefined) return ofType(type)
  return { kind: 'unicast', outInterface, gateway: parseIp(textOf(route, 'gateway') ?? ''), source }
}

function ofType(type: string): RouteAnswer {
  if (type === 'blackhole') return { kind: 'dropped', reason: 'a blackhole route' }
  if (type === 'unreachable' || type === 'prohibit')
    return { kind: 'unreachable', reason: `route: ${type}` }
  return { kind: 'uncertain', reason: `a route of type ${JSON.stringify(type)}` }
}

/** Names of errors as `ip` prints them, after `RTNETLINK answers: `. */
function refusal(stderr: string, { inInterface, src }: RouteQuery): RouteAnswer {
  const isIncoming = inInterface !== undefined
  if (stderr.endsWith('Invalid cross-device link')) {
    return {
      kind: 'dropped',
      reason: `rp_filter of ${inInterface}: answers to ${src} leave elsewhere`,
    }
  }
  if (stderr.endsWith('Invalid argument')) {
    const reason = `a source or destination that is impossible on ${inInterface ?? 'this node'} (martian), or a blackhole`
    return { kind: 'dropped', reason }
  }
  if (stderr.endsWith('No route to host') && isIncoming) {
    return {
      kind: 'dropped',
      reason: `${inInterface} does not forward, or its route is unreachable`,
    }
  }
  if (/(unreachable|No route to host|Permission denied)$/.test(stderr)) {
    return { kind: 'unreachable', reason: 'no route' }
  }
  return { kind: 'uncertain', reason: 'the kernel did not answer the query of a route' }
}
