import { type Cidr, cidrContains, type IpAddress } from '../../lib/ip.ts'
import type { HostFacts } from '../packet/host-facts.ts'
import type { RouteAnswer, RouteQuery, Routing } from '../walk/routing.ts'

export interface FakeRoute {
  readonly to: Cidr
  readonly dev: string
  readonly via?: IpAddress
  /** Only for packets with this mark. */
  readonly mark?: number
}

/** The fake node: `local` addresses, the first of each family on `eth0`. */
export interface FakeNode {
  readonly local: readonly IpAddress[]
  readonly routes: readonly FakeRoute[]
  /** `protocol/ip/port`, or `protocol/ip/port/transparent`; absent if sockets are unknown. */
  readonly listening?: readonly string[]
  readonly forwarding?: boolean
  readonly routeLocalnet?: boolean
}

/** Uses the first matching route, without longest prefix: list routes in order. */
export function fakeRouting({ local, routes }: FakeNode): Routing {
  return {
    route: async (query): Promise<RouteAnswer> => {
      if (local.includes(query.dst)) return { kind: 'local', source: query.dst }
      const found = routes.find((one) => fits(one, query))
      if (found === undefined) return { kind: 'unreachable', how: 'no-route', reason: 'no route' }
      if (found.dev === 'lo') return { kind: 'local', source: undefined }
      const source = sourceOf(local, query.dst)
      return { kind: 'unicast', outInterface: found.dev, gateway: found.via, source }
    },
  }
}

/** Facts for rules about the same node. */
export function fakeFacts(node: FakeNode): HostFacts {
  return {
    addressType: (ip) => (node.local.includes(ip) ? 'local' : 'unicast'),
    masqueradeAddress: (_, toward) => sourceOf(node.local, toward),
    listens: (protocol, { ip, port }) => {
      if (node.listening === undefined) return undefined
      const socket = `${protocol}/${ip}/${port}`
      if (node.listening.includes(`${socket}/transparent`)) return 'transparent'
      return node.listening.includes(socket) ? 'usual' : 'none'
    },
    forwards: () => node.forwarding ?? true,
    routesLoopback: () => node.routeLocalnet ?? false,
    reversePathFilter: () => 0,
  }
}

function fits({ to, mark }: FakeRoute, query: RouteQuery): boolean {
  return cidrContains(to, query.dst) && (mark === undefined || mark === query.mark)
}

function sourceOf(local: readonly IpAddress[], dst: IpAddress): IpAddress | undefined {
  return local.find(
    (ip) => ip.includes(':') === dst.includes(':') && !ip.startsWith('127.') && ip !== '::1',
  )
}
