import { serveInspection } from '../../../inspection/service/serve-inspection.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Conditions } from '../../../telemetry/health/conditions.ts'
import type { Launch } from '../../config/launch.ts'
import type { PageSources } from '../../servers/pages.ts'
import type { TrafficCounters } from '../traffic/traffic-counters.ts'
import { type Inspected, nodeInspection } from './node-inspection.ts'

/** What the service reads of the node proxy, each time anew. */
export interface InspectedProxy extends Pick<Inspected, 'startedAt' | 'node' | 'history'> {
  readonly modeName: string
  readonly running: ReturnType<Inspected['running']>
  readonly health: { report(): ReturnType<Inspected['health']> }
}

/** What the service is started with. */
export interface InspectionParts {
  readonly launch: Pick<Launch, 'config' | 'log' | 'version'>
  readonly nodeName: string
  readonly proxy: InspectedProxy
  readonly conditions: Pick<Conditions, 'raise'>
  readonly traffic: TrafficCounters
  readonly pages: Pick<PageSources, 'readiness' | 'configz'> & {
    readonly metrics: { text(): Promise<string> }
  }
}

/** Serves inspection where the configuration says. Where that fails it is a condition, because traffic does not need it. */
export async function startInspection(parts: InspectionParts): Promise<{ close(): Promise<void> }> {
  const { socket, gid } = parts.launch.config.inspection
  const nothing = { close: async () => undefined }
  if (socket === '') return nothing
  const { log } = parts.launch
  const onError = (error: unknown) => log.error({ err: error }, 'the inspection service failed')
  try {
    return await serveInspection({ socket, gid }, sourceOf(parts), onError)
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    const message = `${error.message}; ${error.hint}`
    parts.conditions.raise('inspection-not-served', { message, blocksReadiness: false })
    return nothing
  }
}

function sourceOf({ launch, nodeName, proxy, pages, traffic }: InspectionParts) {
  const { history, node, startedAt } = proxy
  return nodeInspection({
    ...{ version: launch.version, nodeName, startedAt, node, history },
    traffic: (service) => traffic.read(service),
    readiness: () => pages.readiness(),
    describe: () => pages.configz(),
    metrics: () => pages.metrics.text(),
    modeName: () => proxy.modeName,
    running: () => proxy.running,
    health: () => proxy.health.report(),
  })
}
