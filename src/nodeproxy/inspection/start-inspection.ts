import { join } from 'node:path'
import { commandDocuments, runLauncher } from '../../inspection/http/command-documents.ts'
import type { InspectionHandlerParts } from '../../inspection/http/inspection-handler.ts'
import type { InspectionSource } from '../../inspection/inspection-source.ts'
import { serveInspection } from '../../inspection/serve-inspection.ts'
import { systemClock as clock, steadyClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Launch } from '../config/load.ts'
import { type RemoteParts, serveRemote } from '../remote/serve-remote.ts'
import { Listener, lazyListener } from '../servers/listener.ts'
import type { PageSources } from '../servers/status-servers.ts'
import type { TrafficCounters } from '../traffic/traffic-counters.ts'
import type { Inspected } from './node-inspection.ts'
import { nodeInspection } from './node-inspection.ts'

/** The program, whose commands read what this process does not read itself. */
const LAUNCHER = join(import.meta.dirname, '../../../bin/node-proxy')

/** What the inspection service reads of the NodeProxy at each request. */
interface InspectedProxy extends Pick<Inspected, 'startedAt' | 'node' | 'history' | 'cluster'> {
  readonly modeName: string
  readonly running: ReturnType<Inspected['running']>
  readonly health: { report(): ReturnType<Inspected['health']> }
}

/** What the inspection service is started with. */
interface InspectionParts extends Pick<RemoteParts, 'client'> {
  readonly launch: Pick<Launch, 'config' | 'log' | 'version'>
  readonly nodeName: string
  readonly proxy: InspectedProxy
  readonly policies: { describe(): string; enforced(): ReturnType<Inspected['policies']> }
  readonly announcements: {
    state: Inspected['announcement']
    routes: Inspected['routes']
    explain: Inspected['announcer']
  }
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly traffic: TrafficCounters
  readonly pages: Pick<PageSources, 'readiness' | 'configz'> & {
    readonly metrics: { text(): Promise<string> }
  }
}

/** Serves inspection where the configuration says. A failure only raises a condition: traffic does not depend on it. */
export async function startInspection(parts: InspectionParts): Promise<{ close(): Promise<void> }> {
  const { launch, conditions } = parts
  const shared = { launch, conditions, source: sourceOf(parts) }
  const http = handlerParts(shared)
  const open = await Promise.all([
    serveSocket(shared),
    servePage(http, shared),
    serveRemote(http, { ...parts, clock, steadyClock }),
  ])
  return {
    async close() {
      for (const one of open) await one?.close()
    },
  }
}

async function serveSocket({ launch, conditions, source }: HttpParts) {
  const { socket, gid } = launch.config.inspection
  if (socket === '') return undefined
  const onError = (error: unknown) =>
    launch.log.error({ err: error }, 'the inspection service failed')
  try {
    return await serveInspection({ socket, gid }, source, onError)
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    const message = `${error.message}; ${error.hint}`
    conditions.raise('inspection-not-served', { message, blocksReadiness: false })
    return undefined
  }
}

function sourceOf({ launch, nodeName, proxy, pages, ...parts }: InspectionParts) {
  const { policies, announcements, traffic } = parts
  const { history, node, startedAt, cluster } = proxy
  return nodeInspection({
    version: launch.version,
    nodeName,
    startedAt,
    node,
    history,
    cluster,
    traffic: (service) => traffic.read(service),
    readiness: () => pages.readiness(),
    describe: () => pages.configz(),
    metrics: () => pages.metrics.text(),
    modeName: () => proxy.modeName,
    networkPolicies: () => policies.describe(),
    announcement: () => announcements.state(),
    routes: () => announcements.routes(),
    announcer: (ip) => announcements.explain(ip),
    policies: () => policies.enforced(),
    running: () => proxy.running,
    health: () => proxy.health.report(),
  })
}

/** What inspection over HTTP is started with. */
interface HttpParts {
  readonly launch: Pick<Launch, 'config' | 'log'>
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly source: InspectionSource
}

/** The parts of the handlers of inspection over HTTP. */
function handlerParts({ launch, source }: HttpParts): InspectionHandlerParts {
  const { socket } = launch.config.inspection
  return {
    source,
    socket,
    readDocument: commandDocuments(runLauncher(LAUNCHER)),
    onError: (error) => launch.log.error({ err: error }, 'answering an inspection request failed'),
  }
}

/** Serves the page on this machine. While the address cannot be bound, a condition says so. */
async function servePage(
  parts: InspectionHandlerParts,
  { launch, conditions }: HttpParts,
): Promise<{ close(): Promise<void> } | undefined> {
  const address = launch.config.inspection.pageBindAddress
  if (address === undefined) return undefined
  const load = async () => {
    const { pageHandler } = await import('../../inspection/http/page-handler.ts')
    const { readPageFiles } = await import('../../page/serving/page-files.ts')
    return pageHandler(parts, await readPageFiles())
  }
  const listener = new Listener({
    address,
    clock,
    handler: lazyListener(load, parts.onError),
    onBlocked: ({ message, hint }) =>
      conditions.raise('inspection-page-not-served', {
        message: `inspection.pageBindAddress is not served: ${message}; ${hint} (it is tried again)`,
        blocksReadiness: false,
      }),
    onListening: () => conditions.clear('inspection-page-not-served'),
  })
  await listener.start()
  return listener
}
