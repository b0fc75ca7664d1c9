import { availableParallelism } from 'node:os'
import { NetlinkConntrack } from '../../../kernel/conntrack/netlink-conntrack.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER, NETLINK_ROUTE } from '../../../kernel/netlink/transport.ts'
import { noopMonitor } from '../../../kernel/nftables/nftables-monitor.ts'
import { NetlinkRoutes } from '../../../kernel/route/netlink-routes.ts'
import { openSyscalls } from '../../../kernel/sockets/syscalls.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Family } from '../../../lib/ip.ts'
import { openFilesLimit } from '../../../lib/process.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { ModeView } from '../../definition/mode-view.ts'
import type { NetfilterAccess } from '../../netfilter/access.ts'
import { openMonitor } from '../../netfilter/chains/foreign-change.ts'
import { ownMark } from '../../netfilter/mark.ts'
import type { NetfilterConfiguration } from '../../netfilter/settings/configuration.ts'
import type { ForwarderLimits, ForwarderOptions } from '../forwarder.ts'
import { ForwarderState } from '../forwarder-state.ts'
import { type RedirectKernel, UserspaceMode } from '../mode.ts'
import { OWNED_CHAINS } from '../names.ts'
import { openForwarder } from '../pool/open-forwarder.ts'
import type { UserspaceSettings } from '../settings.ts'
import type { UserspaceConfiguration } from './configuration.ts'
import type { CleanupRuntime } from './pending-cleanup.ts'
import { viewUserspace } from './userspace-driver.ts'
import { DrainingForwarder, type UserspaceRuntime } from './userspace-runtime.ts'

/** What the data path may use of this machine. */
export interface Machine {
  readonly processors: number
  /** The soft limit of this process. */
  readonly openFiles: number
  /** Whether Node can make system calls. */
  readonly hasSyscalls: boolean
}

const MAX_WORKERS = 8
/** The kernel's own limit for one process, unless an administrator raised it (fs.nr_open). */
const MAX_CONNECTIONS = 1_048_576
/** One descriptor for the client's socket, one for the backend's. */
const FILES_PER_CONNECTION = 2
/** For listeners, pipes, pages and the API server; fewer if the limit of open files is low. */
const OTHER_FILES = 1_024

/** The usual default, for systems that report none. */
const USUAL_OPEN_FILES = 1_024

/** The inputs for opening a runtime, from configuration and machine. */
export interface UserspaceRuntimeOptions {
  readonly config: NetfilterConfiguration & UserspaceConfiguration
  readonly entry: 'redirect' | 'bind'
  readonly families: readonly Family[]
  readonly netfilter: NetfilterAccess
  readonly clock: Clock
  readonly log: Logger
  /** The previous runtime, whose workers may still have clients. */
  readonly former: UserspaceRuntime | undefined
}

/** Starts the workers, and opens what brings packets to them. */
export async function openUserspace(options: UserspaceRuntimeOptions): Promise<UserspaceRuntime> {
  const { config, entry, log, former } = options
  const configured = forwarderOptions(config, options, {
    processors: availableParallelism(),
    openFiles: openFilesLimit(USUAL_OPEN_FILES),
    hasSyscalls: openSyscalls() !== undefined,
  })
  const kernel = await openRedirect(options)
  const mark = entry === 'redirect' ? ownMark(config.iptables) : 0
  const onLost = (error: Error) => end(log, error)
  const forwarder = await openForwarder({ ...configured, mark, onLost })
    .catch((error: unknown) => {
      kernel?.close()
      throw error
    })
    .then((opened) => new DrainingForwarder(opened, former?.forwarder))
  const forwarderState = new ForwarderState(forwarder)
  return {
    entry,
    forwarder,
    hasRuleMonitor: kernel?.monitor !== noopMonitor,
    suits: ({ iptables }) =>
      !forwarder.isDraining && (entry === 'bind' || mark === ownMark(iptables)),
    build: (settings) => new UserspaceMode(settings, { forwarderState, ...(kernel && { kernel }) }),
    async close(ending) {
      await forwarder.end(ending)
      kernel?.close()
    },
  }
}

/** Opens the mode for removing it: without a monitor for changes, and without workers. */
export function openUserspaceForCleanup({
  iptables,
  sets,
  clock,
}: Pick<RedirectKernel, 'iptables' | 'sets' | 'clock'>): CleanupRuntime {
  const { close, ...sockets } = openSockets(clock)
  const kernel = { iptables, sets, clock, ...sockets, monitor: noopMonitor }
  return { build: (settings) => new UserspaceMode(settings, { kernel }), close }
}

/** Opens the mode for reading, without workers; with `bound` listeners there is nothing in the kernel. */
export function openUserspaceToRead(
  settings: UserspaceSettings,
  { netfilter, clock }: Pick<UserspaceRuntimeOptions, 'netfilter' | 'clock'>,
): Promise<ModeView> {
  const routes = new NetlinkRoutes(rawTransport(NETLINK_ROUTE), clock)
  const isInKernel = settings.listening.kind === 'transparent' && netfilter.ok
  return viewUserspace(settings, isInKernel ? { ...netfilter.parts, routes, clock } : undefined)
}

async function openRedirect({
  entry,
  netfilter,
  clock,
  families,
}: UserspaceRuntimeOptions): Promise<OpenRedirect | undefined> {
  if (entry === 'bind' || !netfilter.ok) return undefined
  const { iptables, sets } = netfilter.parts
  const monitor = await openMonitor(iptables, { clock, families, owned: OWNED_CHAINS })
  return { iptables, sets, monitor, clock, ...openSockets(clock) }
}

type OpenRedirect = RedirectKernel & { close(): void }

/** Sockets of this mode alone; each opens with its first query. */
function openSockets(clock: Clock) {
  const routes = new NetlinkRoutes(rawTransport(NETLINK_ROUTE), clock)
  const conntrack = new NetlinkConntrack(rawTransport(NETLINK_NETFILTER), clock)
  const close = () => {
    for (const part of [routes, conntrack]) part.close()
  }
  return { routes, conntrack, close }
}

/** The worker's connections are lost, and so are the routes that only this worker had. */
function end(log: Logger, error: Error): void {
  log.fatal({ err: error }, 'a worker ended by itself, so node-proxy ends')
  process.exit(1)
}

/** How packets reach the workers (`userspace.entry`), and for which families. */
interface Entry {
  readonly entry: 'redirect' | 'bind'
  readonly families: readonly Family[]
}

/** The options of a data path, from configuration and machine. */
type ConfiguredForwarder = Omit<ForwarderOptions, 'mark' | 'onLost'>

/** Computes the options of the data path from configuration and machine. */
export function forwarderOptions(
  { userspace, udpIdleTimeout, portRange }: UserspaceConfiguration,
  { entry, families }: Entry,
  { processors, openFiles, hasSyscalls }: Machine,
): ConfiguredForwarder {
  const { dataPath } = userspace
  // The sockets of Node cannot accept packets for addresses that this machine does not have.
  const best = entry === 'redirect' || hasSyscalls ? 'native' : 'javascript'
  return {
    dataPath: dataPath === 'auto' ? best : dataPath,
    workers: workersOf(userspace.workers, processors),
    listening: entry === 'redirect' ? 'transparent' : 'bound',
    families,
    portRange,
    limits: {
      ...connectionsOf(userspace, openFiles),
      connectMs: userspace.connectTimeout,
      retryMs: userspace.retryTimeout,
      attempts: userspace.connectAttempts,
      idleMs: userspace.idleTimeout,
      udpIdleMs: udpIdleTimeout,
      drainMs: userspace.gracefulTermination,
      affinityClients: userspace.affinityClients,
    },
  }
}

function workersOf(configured: number, processors: number): number {
  return configured === 0 ? Math.min(processors, MAX_WORKERS) : configured
}

function connectionsOf(
  { maxConnections, maxConnectionsPerClient }: UserspaceConfiguration['userspace'],
  openFiles: number,
): Pick<ForwarderLimits, 'connections' | 'perClient'> {
  const possible = possibleConnections(openFiles)
  const connections = maxConnections === 0 ? possible : Math.min(maxConnections, possible)
  const ofClient = maxConnectionsPerClient === 0 ? connections / 2 : maxConnectionsPerClient
  return { connections, perClient: Math.ceil(ofClient) }
}

function possibleConnections(openFiles: number): number {
  const others = Math.min(OTHER_FILES, openFiles / 2)
  return Math.min(Math.floor((openFiles - others) / FILES_PER_CONNECTION), MAX_CONNECTIONS)
}
