import type { ApiClient } from '../client/http/api-client.ts'
import type { RequestReporter } from '../client/http/failure/api-failures.ts'
import { ClusterStore } from '../cluster/cluster-store.ts'
import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import type { WatchProblem } from '../watch/problem.ts'
import { Authority } from './authority/authority.ts'
import type { DnsSettings } from './config/dns-settings.ts'
import { openForwarder } from './forward/open-forwarder.ts'
import { upstreamName } from './forward/upstream/upstream.ts'
import type { UpstreamChange } from './forward/upstream/upstream-health.ts'
import { AmplificationLimit } from './server/amplification-limit.ts'
import { ClientNetworks } from './server/client-networks.ts'
import { forwardObserver } from './server/forwarding-statistics.ts'
import { openServers } from './server/open-servers.ts'
import { RefusedClients } from './server/refused-clients.ts'
import { Responder } from './server/responder.ts'
import type { ListenAddress } from './server/server-parts.ts'
import { createStatistics, type Statistics } from './server/statistics.ts'
import { createDnsWatcher } from './watch/dns-watcher.ts'
import { Zone } from './zone/zone.ts'

export interface ClusterDnsOptions {
  readonly config: DnsSettings
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly reporter: RequestReporter
  readonly onProblem: (problem: WatchProblem) => void
  /** Receives what the operator should know, in a sentence. */
  readonly onWarning: (warning: string) => void
  /** Receives an error in answering one message, which is a bug; the message gets no answer. */
  readonly onError: (error: unknown) => void
}

/** A DNS server of a cluster that is running. */
export interface ClusterDns {
  readonly statistics: Statistics
  /** Where it listens: an address and port for each of the configuration. */
  readonly addresses: readonly ListenAddress[]
  /** Resolves when all names are known; until then the answer is a failure of the server. */
  readonly ready: Promise<void>
  /** The Services that have names. */
  serviceCount(): number
  /** A sentence for each upstream that does not answer. */
  readonly upstreamProblems: () => readonly string[]
  close(): Promise<void>
}

/**
 * Follows the cluster, and answers questions about its names as soon as all of them are known: a server that
 * knows a part would deny the rest, and clients keep a denial. Until then it fails, and clients query another one.
 * @throws NP_DNS_LISTEN, NP_DNS_RESOLV_CONF, NP_DNS_LOOP
 */
export async function openClusterDns(options: ClusterDnsOptions): Promise<ClusterDns> {
  const { config, clock, onWarning } = options
  const { domain, serverAddresses } = config
  const store = new ClusterStore()
  const serial = Math.floor(clock.now() / 1_000) >>> 0
  const zone = new Zone(store, { domain, serverAddresses, serial })
  const statistics = createStatistics()
  let isSynced = false
  await using opening = new AsyncDisposableStack()
  const forwarder = await openForwarder({
    ...{ settings: config.forward, clock, onWarning },
    listening: config.addresses.map(({ ip: address, port }) => ({ address, port })),
    observer: {
      ...forwardObserver(statistics.forwarding),
      upstreamChanged: (change) => onWarning(changeText(change, clock.now())),
    },
  })
  opening.defer(() => forwarder?.close())
  const responder = new Responder({
    ...{ authority: new Authority(zone, store), forwarder, statistics },
    isReady: () => isSynced,
  })
  const refused = new RefusedClients({ clock, onWarning })
  const servers = await openServers(config.addresses, {
    ...{ responder, statistics, onError: options.onError },
    networks: new ClientNetworks(config.clientNetworks, (address) => refused.add(address)),
    limit: new AmplificationLimit({ clock, bytesPerSecond: config.amplifiedBytesPerSecond }),
  })
  const synced = Promise.withResolvers<void>()
  const watcher = createDnsWatcher({
    ...options,
    onEvents: (events) => zone.update(store.apply(events).services),
    onSynced: () => {
      isSynced = true
      synced.resolve()
    },
  })
  const opened = opening.move()
  const stop = new AbortController()
  const watching = watcher.run(stop.signal)
  return {
    ...{ statistics, addresses: servers.addresses, ready: synced.promise },
    serviceCount: () => store.counts.services,
    upstreamProblems: () => {
      const away = forwarder?.away() ?? []
      return away.map((one) => changeText({ ...one, isAway: true }, clock.now()))
    },
    close: async () => {
      stop.abort()
      await Promise.all([watching, servers.close(), opened.disposeAsync()])
    },
  }
}

function changeText({ upstream, since, isAway }: UpstreamChange, now: number): string {
  const name = upstreamName(upstream)
  const seconds = Math.round((now - since) / 1_000)
  return isAway
    ? `the upstream ${name} has not answered for ${seconds} s; names outside of the cluster fail where no other one answers: check that it runs, and the way to it`
    : `the upstream ${name} answers again after ${seconds} s`
}
