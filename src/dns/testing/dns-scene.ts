import { systemClock } from '../../lib/clock.ts'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { type DnsServers, openServers } from '../cluster-dns.ts'
import type { Forwarder } from '../forward/forwarder.ts'
import { Authority } from '../server/authority.ts'
import { Responder } from '../server/responder.ts'
import { AmplificationLimit, ClientNetworks } from '../server/server-parts.ts'
import { createStatistics, type Statistics } from '../server/statistics.ts'
import { goldenZone } from './golden-zone.ts'

export interface SceneOptions {
  readonly forwarder?: Pick<Forwarder, 'query'>
  readonly networks?: readonly string[]
  readonly bytesPerSecond?: number
  readonly isReady?: () => boolean
  /** Milliseconds of the clock by which answers are timed. */
  readonly now?: () => number
}

/** Servers of the golden cluster on the loopback, and what they counted. */
export interface Scene extends DnsServers, ReturnType<typeof goldenZone> {
  readonly port: number
  readonly statistics: Statistics
  readonly responder: Responder
}

const LOOPBACK = '127.0.0.1' as IpAddress

/** Opens the servers; the test has to close them. */
export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const { forwarder, networks = ['127.0.0.0/8', '::1/128'], isReady = () => true } = options
  const { now = () => performance.now() } = options
  const golden = goldenZone()
  const statistics = createStatistics()
  const authority = new Authority(golden.zone, golden.store)
  const responder = new Responder({ authority, forwarder, statistics, isReady, now })
  const servers = await openServers([{ ip: LOOPBACK, port: 0 }], {
    responder,
    statistics,
    onError: (error) => {
      throw error
    },
    networks: new ClientNetworks(networks as readonly Cidr[]),
    limit: new AmplificationLimit({
      clock: systemClock,
      bytesPerSecond: options.bytesPerSecond ?? Number.POSITIVE_INFINITY,
    }),
  })
  const [first] = servers.addresses
  return { ...golden, ...servers, statistics, responder, port: first!.port }
}
