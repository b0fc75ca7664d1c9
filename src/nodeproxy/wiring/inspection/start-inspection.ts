import { serveInspection } from '../../../inspection/service/serve-inspection.ts'
import { systemClock as clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Conditions } from '../../../telemetry/health/conditions.ts'
import type { Launch } from '../../config/launch.ts'
import { type RemoteParts, serveRemote } from '../../remote/serve-remote.ts'
import type { PageSources } from '../../servers/pages.ts'
import type { TrafficCounters } from '../traffic/traffic-counters.ts'
import { type Inspected, nodeInspection } from './node-inspection.ts'
import { type HttpParts, handlerParts, servePage } from './serve-page.ts'

/** What the service reads of the node proxy, each time anew. */
export interface InspectedProxy
  extends Pick<Inspected, 'startedAt' | 'node' | 'history' | 'cluster'> {
  readonly modeName: string
  readonly running: ReturnType<Inspected['running']>
  readonly health: { report(): ReturnType<Inspected['health']> }
}

/** What the service is started with. */
export interface InspectionParts extends Pick<RemoteParts, 'client'> {
  readonly launch: Pick<Launch, 'config' | 'log' | 'version'>
  readonly nodeName: string
  readonly proxy: InspectedProxy
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly traffic: TrafficCounters
  readonly pages: Pick<PageSources, 'readiness' | 'configz'> & {
    readonly metrics: { text(): Promise<string> }
  }
}

/** Serves inspection where the configuration says. Where that fails it is a condition, because traffic does not need it. */
export async function startInspection(parts: InspectionParts): Promise<{ close(): Promise<void> }> {
  const { launch, conditions } = parts
  const shared = { launch, conditions, source: sourceOf(parts) }
  const http = handlerParts(shared)
  const open = await Promise.all([
    serveSocket(shared),
    servePage(http, shared),
    serveRemote(http, { ...parts, clock }),
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

function sourceOf({ launch, nodeName, proxy, pages, traffic }: InspectionParts) {
  const { history, node, startedAt, cluster } = proxy
  return nodeInspection({
    ...{ version: launch.version, nodeName, startedAt, node, history, cluster },
    traffic: (service) => traffic.read(service),
    readiness: () => pages.readiness(),
    describe: () => pages.configz(),
    metrics: () => pages.metrics.text(),
    modeName: () => proxy.modeName,
    running: () => proxy.running,
    health: () => proxy.health.report(),
  })
}
