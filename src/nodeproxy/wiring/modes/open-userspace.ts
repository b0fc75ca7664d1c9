import { availableParallelism } from 'node:os'
import { NetlinkConntrack } from '../../../kernel/conntrack/netlink-conntrack.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER, NETLINK_ROUTE } from '../../../kernel/netlink/transport.ts'
import { deafMonitor } from '../../../kernel/nftables-monitor/deaf-monitor.ts'
import { NetlinkRoutes } from '../../../kernel/route/netlink-routes.ts'
import { openSyscalls } from '../../../kernel/sockets/syscalls.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Family } from '../../../lib/ip.ts'
import { openFilesLimit } from '../../../lib/open-files-limit.ts'
import { ownMark } from '../../../modes/netfilter/mark.ts'
import { openForwarder } from '../../../modes/userspace/crew/open-forwarder.ts'
import { Ledger } from '../../../modes/userspace/ledger.ts'
import { type RedirectKernel, UserspaceMode } from '../../../modes/userspace/mode.ts'
import { TERRITORY } from '../../../modes/userspace/names.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import type { NetfilterAccess } from '../kernel/netfilter.ts'
import { openMonitor } from '../kernel/open-monitor.ts'
import { DrainingForwarder } from './draining-forwarder.ts'
import { forwarderOptions } from './forwarder-options.ts'
import type { UserspaceGround } from './userspace-ground.ts'
import type { DeafUserspaceGround } from './userspace-leftovers.ts'

/** What every system gives, where this one does not say. */
const USUAL_OPEN_FILES = 1_024

export interface UserspaceGroundOptions {
  readonly config: NodeProxyConfiguration
  readonly entry: 'redirect' | 'bind'
  readonly families: readonly Family[]
  readonly netfilter: NetfilterAccess
  readonly clock: Clock
  readonly log: Logger
  /** The one before, whose workers may still have clients. */
  readonly former: UserspaceGround | undefined
}

/** Starts the workers, and opens what brings packets to them. */
export async function openUserspace(options: UserspaceGroundOptions): Promise<UserspaceGround> {
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
  const ledger = new Ledger(forwarder)
  return {
    ...{ entry, forwarder },
    hears: kernel?.monitor !== deafMonitor,
    suits: ({ iptables }) => !forwarder.isSpent && (entry === 'bind' || mark === ownMark(iptables)),
    build: (settings) => new UserspaceMode(settings, { ledger, ...(kernel && { kernel }) }),
    async close({ serving, all }) {
      // Nobody else serves those who come while it waits for the others.
      if (!forwarder.isSpent) await forwarder.untilIdle(serving)
      await forwarder.drain(all)
      await forwarder.close()
      kernel?.close()
    },
  }
}

/** Opens it to be removed: nobody listens for changes, and no worker is started. */
export function openUserspaceDeaf({
  iptables,
  sets,
  clock,
}: Pick<RedirectKernel, 'iptables' | 'sets' | 'clock'>): DeafUserspaceGround {
  const { close, ...sockets } = openSockets(clock)
  const kernel = { iptables, sets, clock, ...sockets, monitor: deafMonitor }
  return { build: (settings) => new UserspaceMode(settings, { kernel }), close }
}

async function openRedirect({
  entry,
  netfilter,
  clock,
  families,
}: UserspaceGroundOptions): Promise<OpenRedirect | undefined> {
  if (entry === 'bind' || !netfilter.ok) return undefined
  const { iptables, sets } = netfilter.parts
  const monitor = await openMonitor(iptables, { clock, families, territory: TERRITORY })
  return { iptables, sets, monitor, clock, ...openSockets(clock) }
}

type OpenRedirect = RedirectKernel & { close(): void }

/** Sockets of this mode alone; they open with the first question to each. */
function openSockets(clock: Clock) {
  const routes = new NetlinkRoutes(rawTransport(NETLINK_ROUTE), clock)
  const conntrack = new NetlinkConntrack(rawTransport(NETLINK_NETFILTER), clock)
  const close = () => {
    for (const part of [routes, conntrack]) part.close()
  }
  return { routes, conntrack, close }
}

/** Its connections are lost, and so are the routes that it alone had. */
function end(log: Logger, error: Error): void {
  log.fatal({ err: error }, 'a worker ended by itself, so node-proxy ends')
  process.exit(1)
}
