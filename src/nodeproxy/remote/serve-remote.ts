import type { RequestListener } from 'node:http'
import type { ApiClient } from '../../client/http/api-client.ts'
import type { InspectionHandlerParts } from '../../inspection/http/inspection-handler.ts'
import { lazyListener } from '../../inspection/http/lazy-listener.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { follow } from '../../lib/follow.ts'
import type { SocketAddress } from '../../settings/network-types.ts'
import { FailureLog } from '../../telemetry/failure-log.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Launch } from '../config/launch.ts'
import { Listener, type ListenerOptions } from '../servers/listener.ts'
import { accessCheck } from './access/access-check.ts'
import { apiReviews } from './access/reviews.ts'
import { remoteHandler } from './remote-handler.ts'
import { readServingFiles, type ServingFiles } from './tls/serving-files.ts'
import { tlsServer } from './tls/tls-server.ts'

/** What remote inspection is started with. */
export interface RemoteParts {
  readonly launch: Pick<Launch, 'config' | 'log'>
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly client: Pick<ApiClient, 'create'>
  readonly nodeName: string
  readonly clock: Clock
}

/** Reasons of conditions: the address cannot be had, or the files of the certificate cannot be used. */
const NOT_SERVED = 'inspection-remote-not-served'
const UNUSABLE = 'inspection-certificate-unusable'

/** A bearer token of many groups needs more than a status page. */
const MAX_HEADER_BYTES = 16_384

/**
 * Serves inspection to other machines, with a certificate whose files are read again. What prevents it is a condition
 * while it lasts, because traffic does not need it.
 */
export async function serveRemote(
  parts: InspectionHandlerParts,
  remote: RemoteParts,
): Promise<{ close(): Promise<void> } | undefined> {
  const { inspection } = remote.launch.config
  const { bindAddress: address } = inspection
  if (address === undefined) return undefined
  const { log } = remote.launch
  const { clock } = remote
  const report = (reason: string) => conditionOf(remote.conditions, reason)
  const handler = handlerOf(parts, remote)
  const serving = certifiedListener(address, { handler, clock, report: report(NOT_SERVED) })
  const onUnusable = report(UNUSABLE)
  const read = async () => {
    const files = await readServingFiles(inspection)
    onUnusable(undefined)
    return files
  }
  const first = await read().catch(onUnusable)
  if (first !== undefined) await serving.use(first)
  const stop = follow<ServingFiles | undefined>({
    ...{ clock, first, read },
    async onChange(files) {
      if (files === undefined) return
      await serving.use(files)
      log.info('remote inspection serves with the certificate that its files have now')
    },
    onError: onUnusable,
  })
  return {
    async close() {
      stop()
      await serving.close()
    },
  }
}

function handlerOf(
  parts: InspectionHandlerParts,
  { client, launch, nodeName, clock }: RemoteParts,
) {
  const { log } = launch
  const load = async () => {
    const { inspectionHandler } = await import('../../inspection/http/inspection-handler.ts')
    return inspectionHandler(parts)
  }
  return remoteHandler(lazyListener(load, parts.onError), {
    checkAccess: accessCheck(apiReviews(client, nodeName), { clock, nodeName }),
    refusals: new FailureLog({ clock, log }),
    ...{ clock, onError: parts.onError },
  })
}

interface CertifiedParts {
  readonly clock: Clock
  readonly handler: RequestListener
  readonly report: (error: unknown) => undefined
}

/** A listener that begins to listen with its first certificate. */
function certifiedListener(address: SocketAddress, { handler, clock, report }: CertifiedParts) {
  let open: { server: ReturnType<typeof tlsServer>; listener: Listener } | undefined
  return {
    async use(files: ServingFiles): Promise<void> {
      if (open !== undefined) return open.server.replace(files)
      const server = tlsServer(files)
      const openServer: ListenerOptions['open'] = (...given) => server.open(...given)
      const listener = new Listener({
        ...{ address, handler, clock, open: openServer, maxHeaderBytes: MAX_HEADER_BYTES },
        onBlocked: report,
        onListening: () => report(undefined),
      })
      open = { server, listener }
      await listener.start()
    },
    close: async () => open?.listener.close(),
  }
}

/** Raises the condition for an error, and clears it for undefined. */
function conditionOf(conditions: Pick<Conditions, 'raise' | 'clear'>, reason: string) {
  return (error: unknown): undefined => {
    if (error === undefined) {
      conditions.clear(reason)
      return undefined
    }
    const message = `remote inspection: ${textOf(error)} (it is tried again)`
    conditions.raise(reason, { message, blocksReadiness: false })
    return undefined
  }
}

function textOf(error: unknown): string {
  if (error instanceof NodeProxyError) return `${error.message}; ${error.hint}`
  return error instanceof Error ? error.message : 'unknown error'
}
