import { readFile } from 'node:fs/promises'
import type { IncomingMessage, RequestListener, ServerOptions, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import type { ApiClient } from '../../client/http/api-client.ts'
import type { InspectionHandlerParts } from '../../inspection/http/inspection-handler.ts'
import { sendError } from '../../inspection/http/send-json.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { follow, regularly } from '../../lib/regularly.ts'
import { CertifiedConnections } from '../../lib/tls/certified-connections.ts'
import { belongTogether, certificateFault, keyFault } from '../../lib/tls/pem.ts'
import type { SocketAddress } from '../../settings/network-types.ts'
import { FailureLog } from '../../telemetry/failure-log.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import type { Launch } from '../config/load.ts'
import { Listener, type ListenerOptions, lazyListener } from '../servers/listener.ts'
import { accessCheck, type CheckAccess, type RefusedRequest } from './access-check.ts'
import { apiReviews } from './access-reviews.ts'

/** Milliseconds between two checks of a request that is still being answered. */
const RECHECK_MS = 30_000

/** Milliseconds for a TLS handshake. */
const HANDSHAKE_MS = 5_000

/** What remote inspection is started with. */
export interface RemoteParts {
  readonly launch: Pick<Launch, 'config' | 'log'>
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly client: Pick<ApiClient, 'create'>
  readonly nodeName: string
  readonly clock: Clock
  readonly steadyClock: Pick<Clock, 'now'>
}

/** Reasons of conditions: the address cannot be bound, or the files of the certificate cannot be used. */
const NOT_SERVED = 'inspection-remote-not-served'
const UNUSABLE = 'inspection-certificate-unusable'

/** More than for a status page, because the bearer token of a user with many groups is long. */
const MAX_HEADER_BYTES = 16_384

/**
 * Serves inspection to other machines. The files of the certificate are read again when they change. While inspection
 * cannot be served, a condition says why; the daemon goes on, because traffic does not need inspection.
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
    clock,
    first,
    read,
    async onChange(files) {
      if (files === undefined) return
      await serving.use(files)
      log.info('remote inspection now uses the replaced certificate files')
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
  { client, launch, nodeName, clock, steadyClock }: RemoteParts,
) {
  const { log } = launch
  const load = async () => {
    const { inspectionHandler } = await import('../../inspection/http/inspection-handler.ts')
    return inspectionHandler(parts)
  }
  return remoteHandler(lazyListener(load, parts.onError), {
    checkAccess: accessCheck(apiReviews(client, nodeName), { clock, steadyClock, nodeName }),
    refusals: new FailureLog({ clock, log }),
    clock,
    onError: parts.onError,
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
        address,
        handler,
        clock,
        open: openServer,
        maxHeaderBytes: MAX_HEADER_BYTES,
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

/** The HTTPS server of one listener, whose files may be replaced while it serves. */
interface TlsServer {
  /** A server with the present files. The listener opens another one where it could not listen with the last. */
  open(limits: ServerOptions, handler: RequestListener): Server
  /** New connections use the new files. Connections whose client certificate the new authorities did not sign end. */
  replace(files: ServingFiles): void
}

function tlsServer(first: ServingFiles): TlsServer {
  let files = first
  let last: { server: Server; certified: CertifiedConnections } | undefined
  return {
    open(limits, handler) {
      const clients = { requestCert: files.ca !== undefined, rejectUnauthorized: false }
      const options = { ...limits, ...contextOf(files), ...clients }
      const server = createServer({ ...options, handshakeTimeout: HANDSHAKE_MS }, handler)
      last = { server, certified: new CertifiedConnections(server) }
      return server
    },
    replace(next) {
      files = next
      last?.server.setSecureContext(contextOf(files))
      last?.certified.endOthersThan(files.ca ?? '')
    },
  }
}

/**
 * A client certificate that no authority signed does not end the handshake; it just proves nothing. The empty list keeps
 * Node from trusting the authorities of the machine when the configuration names none.
 */
function contextOf({ cert, key, ca }: ServingFiles): SecureContextOptions {
  return { cert, key, ca: ca ?? [], minVersion: 'TLSv1.2' }
}

/** PEM texts of a TLS listener. */
interface ServingFiles {
  readonly cert: string
  readonly key: string
  /** The authorities of client certificates; undefined: none are accepted. */
  readonly ca: string | undefined
}

type Paths = Pick<
  NodeProxyConfiguration['inspection'],
  'tlsCertFile' | 'tlsPrivateKeyFile' | 'clientCAFile'
>

/** Reads the files of the configuration. Throws NP_INSPECTION_CERTIFICATE where one cannot be used. */
async function readServingFiles(paths: Paths): Promise<ServingFiles> {
  const { tlsCertFile, tlsPrivateKeyFile, clientCAFile } = paths
  const cert = await readPem('tlsCertFile', tlsCertFile, certificateFault)
  const key = await readPem('tlsPrivateKeyFile', tlsPrivateKeyFile, keyFault)
  if (!belongTogether(cert, key)) {
    throw unusable('tlsCertFile', tlsCertFile, `does not belong to the key ${tlsPrivateKeyFile}`)
  }
  const ca =
    clientCAFile === '' ? undefined : await readPem('clientCAFile', clientCAFile, certificateFault)
  return { cert, key, ca }
}

async function readPem(
  field: keyof Paths,
  path: string,
  faultOf: (text: string) => string | undefined,
): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw unusable(field, path, `cannot be read: ${cause.code ?? cause.message}`)
  })
  const fault = faultOf(text)
  if (fault === undefined) return text
  throw unusable(field, path, fault)
}

function unusable(field: keyof Paths, path: string, what: string): NodeProxyError {
  const message = `inspection.${field}: ${JSON.stringify(path)} ${what}`
  return new NodeProxyError('NP_INSPECTION_CERTIFICATE', message, {
    object: path,
    hint: 'give files in PEM, a certificate first in its file and its key without a passphrase; they are read again every 10 s',
  })
}

/** What the handler uses. */
interface RemoteHandlerParts {
  readonly checkAccess: CheckAccess
  readonly clock: Pick<Clock, 'after'>
  readonly refusals: Pick<FailureLog, 'report'>
  readonly onError: (error: unknown) => void
}

/**
 * Passes on requests whose sender may read this node, and answers the others with the reason. A long answer ends when
 * its reader is no longer allowed to read it.
 */
function remoteHandler(
  handler: RequestListener,
  { checkAccess, clock, refusals, onError }: RemoteHandlerParts,
): RequestListener {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refusal = await checkAccess(request)
    if (refusal !== undefined) return refuse({ request, response }, refusal, refusals)
    if (response.destroyed) return
    const everyMs = RECHECK_MS
    const round = async () => {
      if ((await checkAccess(request)) !== undefined) response.destroy()
    }
    response.once('close', regularly({ clock, everyMs, round, onError }))
    handler(request, response)
  }
  return (request, response) => {
    answer(request, response).catch((error: unknown) => {
      onError(error)
      response.destroy()
    })
  }
}

function refuse(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  { status, error, user }: RefusedRequest,
  refusals: Pick<FailureLog, 'report'>,
): void {
  const client = request.socket.remoteAddress ?? ''
  const path = quote(request.url?.split('?', 1)[0])
  refusals.report(String(status), {
    level: 'warn',
    fields: {
      client,
      path,
      status,
      code: error.code,
      ...(user === undefined ? {} : { user: quote(user) }),
    },
    message: `a remote inspection request was refused: ${error.message}`,
    subject: client,
    summary: (clients) => ({ clients: clients.slice(0, 10), status, code: error.code }),
  })
  const headers = status === 401 ? { 'WWW-Authenticate': 'Bearer realm="node-proxy"' } : {}
  sendError({ request, response }, error, { status, headers })
}
