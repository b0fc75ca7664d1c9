import type { ApiClient } from '../client/http/api-client.ts'
import type { RequestReporter } from '../client/http/api-failures.ts'

import { type ClusterEvent, ClusterStore } from '../cluster/cluster-store.ts'
import { openSyscalls } from '../kernel/sockets/syscalls.ts'
import { type Clock, steadyClock } from '../lib/clock.ts'
import { NodeProxyError, systemCode } from '../lib/error.ts'
import { hostPort, type IpAddress } from '../lib/ip.ts'
import type { Random } from '../lib/random.ts'
import { decodeService } from '../resources/service.ts'
import type { Service, ServiceKey } from '../resources/types.ts'
import { createEndpointsFeed } from '../watch/endpoints-feed.ts'
import { createFeed, type WatchProblem } from '../watch/feed.ts'
import { probeServer } from '../watch/server-probe.ts'
import type { DnsSettings } from './dns-fields.ts'
import { openForwarder } from './forward/open-forwarder.ts'
import { upstreamName } from './forward/upstream/upstream.ts'
import type { UpstreamChange } from './forward/upstream/upstream-health.ts'
import { Authority } from './server/authority.ts'
import { Responder } from './server/responder.ts'
import {
  AmplificationLimit,
  ClientNetworks,
  type ListenAddress,
  type ServerParts,
} from './server/server-parts.ts'
import { createStatistics, forwardObserver, type Statistics } from './server/statistics.ts'
import { TcpServer } from './server/tcp-server.ts'
import { UdpServer } from './server/udp-server.ts'
import { Zone } from './zone/zone.ts'

const MINUTE_MS = 60_000

const REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'another program has the port; choose another one, or an address of your own with dns.addresses',
  EADDRNOTAVAIL: 'this machine has no such address; choose one of its own with dns.addresses',
  EACCES: 'ports below 1024 need root or CAP_NET_BIND_SERVICE',
}

/** The sockets of a server; see `openServers`. */
export interface DnsServers {
  readonly addresses: readonly ListenAddress[]
  close(): Promise<void>
}

export interface ClusterDnsOptions {
  readonly config: DnsSettings
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly reporter: RequestReporter
  readonly onProblem: (problem: WatchProblem) => void
  /** Receives each warning for the operator, as a sentence. */
  readonly onWarning: (warning: string) => void
  /** Receives an error in answering a message. It is a bug, and the message gets no answer. */
  readonly onError: (error: unknown) => void
}

/** A DNS server of a cluster that is running. */
export interface ClusterDns {
  readonly statistics: Statistics
  /** Where it listens: an address and port for each of the configuration. */
  readonly addresses: readonly ListenAddress[]
  /** Resolves when all names are known; until then every answer is SERVFAIL. */
  readonly ready: Promise<void>
  /** The Services that have names. */
  serviceCount(): number
  /** A sentence for each upstream that does not answer. */
  readonly upstreamProblems: () => readonly string[]
  close(): Promise<void>
}

/**
 * Watches the cluster, and answers questions about its names once all of them are known. A server that knows
 * only a part would deny the rest, and clients cache denials. Until then it answers SERVFAIL, so clients query
 * another server.
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
    settings: config.forward,
    onWarning,
    listening: config.addresses.map(({ ip: address, port }) => ({ address, port })),
    observer: {
      ...forwardObserver(statistics.forwarding),
      upstreamChanged: (change) => onWarning(changeText(change, steadyClock.now())),
    },
  })
  opening.defer(() => forwarder?.close())
  const authority = new Authority(zone, store)
  const responder = new Responder({ authority, forwarder, statistics, isReady: () => isSynced })
  const refused = new RefusedClients({ clock: steadyClock, onWarning })
  const servers = await openServers(config.addresses, {
    responder,
    statistics,
    onError: options.onError,
    networks: new ClientNetworks(config.clientNetworks, (address) => refused.add(address)),
    limit: new AmplificationLimit({
      clock: steadyClock,
      bytesPerSecond: config.amplifiedBytesPerSecond,
    }),
  })
  const synced = Promise.withResolvers<void>()
  const opened = opening.move()
  const stop = new AbortController()
  const names: WatchedNames = {
    ...options,
    onEvents: (events) => zone.update(store.apply(events).services),
    onSynced: () => {
      isSynced = true
      synced.resolve()
    },
  }
  const watching = watchNames(names, stop.signal)
  return {
    statistics,
    addresses: servers.addresses,
    ready: synced.promise,
    serviceCount: () => store.counts.services,
    upstreamProblems: () => {
      const away = forwarder?.away() ?? []
      return away.map((one) => changeText({ ...one, isAway: true }, steadyClock.now()))
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
    ? `the upstream ${name} has not answered for ${seconds} s; names outside of the cluster fail if no other upstream answers: check that it runs and can be reached`
    : `the upstream ${name} answers again after ${seconds} s`
}

/**
 * Opens both transports on each address, at the same port.
 * @throws NP_DNS_LISTEN when an address cannot be used; then none is left open
 */
export async function openServers(
  listen: readonly ListenAddress[],
  parts: ServerParts,
): Promise<DnsServers> {
  await using opening = new AsyncDisposableStack()
  const addresses: ListenAddress[] = []
  const sys = openSyscalls()
  for (const { ip, port } of listen) {
    const tcp = await TcpServer.open(parts, { ip, port }).catch(cannotListen('TCP', ip, port))
    opening.defer(() => tcp.close())
    const own = tcp.port
    const udp = await UdpServer.open(parts, { ip, port: own }, sys).catch(
      cannotListen('UDP', ip, own),
    )
    opening.defer(() => udp.close())
    addresses.push({ ip, port: tcp.port })
  }
  const opened = opening.move()
  return {
    addresses,
    close: () => opened.disposeAsync(),
  }
}

function cannotListen(transport: string, ip: IpAddress, port: number) {
  return (cause: unknown): never => {
    const system = cause instanceof NodeProxyError ? cause.cause : cause
    const code = systemCode(system)
    throw new NodeProxyError(
      'NP_DNS_LISTEN',
      `cannot answer questions over ${transport} at ${hostPort(ip, port)}: ${code}`,
      { cause, hint: REMEDIES[code] ?? 'choose another address with dns.addresses' },
    )
  }
}

interface WatchedNames {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly reporter: RequestReporter
  /** Called with changes in their order, never with an empty batch. */
  readonly onEvents: (batch: readonly ClusterEvent[]) => void
  /** Called once, when Services and endpoints were both listed. */
  readonly onSynced: () => void
  /** Called for an object that cannot be used completely. */
  readonly onProblem: (problem: WatchProblem) => void
}

/**
 * Watches everything that has a name until `signal` is aborted: all Services, whichever proxy serves them, and their
 * endpoints. While the API server cannot be reached, the names stay as they are. Rejects only for a bug in a callback.
 */
function watchNames(options: WatchedNames, signal: AbortSignal): Promise<void> {
  const { client, clock, random, reporter, onEvents, onSynced, onProblem } = options
  const context = { client, clock, random, timing: {}, onProblem, reporter }
  const waiting = new Set(['services', 'endpoints'])
  const listed = (name: string) => () => {
    if (waiting.delete(name) && waiting.size === 0) onSynced()
  }
  const services = createFeed<Service>(context, {
    name: 'services',
    resource: { path: '/api/v1/services', query: {} },
    decode: decodeService,
    onChanges: (changes) =>
      onEvents(
        changes.map(({ key, value }) => ({ kind: 'service', key: key as ServiceKey, value })),
      ),
    onListed: listed('services'),
  })
  const endpoints = createEndpointsFeed({
    context,
    onEvents,
    includeHeadless: true,
    onListed: listed('endpoints'),
  })
  const states = () => [services.state(), endpoints.state()].filter((one) => one !== undefined)
  return runAll(
    [
      (end) => services.run(end),
      (end) => endpoints.run(end),
      (end) => probeServer({ client, clock, reporter, states }, end),
    ],
    signal,
  )
}

/** Runs all parts until `signal` is aborted; a bug in one ends the others too, and rejects. */
async function runAll(
  parts: readonly ((signal: AbortSignal) => Promise<unknown>)[],
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  await Promise.all(parts.map((run) => run(either).finally(() => stop.abort())))
}

interface RefusedClientsOptions {
  readonly clock: Clock
  /** Receives each warning for the operator, as a sentence. */
  readonly onWarning: (warning: string) => void
}

/** Reports refused clients, at most once a minute: often their network is missing in the configuration. */
export class RefusedClients {
  readonly #options: RefusedClientsOptions
  #reportedAt = Number.NEGATIVE_INFINITY
  #unreported = 0

  constructor(options: RefusedClientsOptions) {
    this.#options = options
  }

  /** Takes the address of a client that was refused, as a socket reports it. */
  add(address: string): void {
    const { clock, onWarning } = this.#options
    this.#unreported += 1
    const now = clock.now()
    if (now - this.#reportedAt < MINUTE_MS) return
    this.#reportedAt = now
    onWarning(
      `${address} is in no network of dns.clientNetworks and was refused (messages of such clients since the last warning: ${this.#unreported}); add its network there if it should be answered`,
    )
    this.#unreported = 0
  }
}
