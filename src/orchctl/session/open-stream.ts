import type { Connection, TlsSettings } from '../../client/connection/connection.ts'
import type { Credential } from '../../client/connection/credential/credential.ts'
import {
  type OpenWebSocket,
  openWebSocket,
  type UpgradeOptions,
} from '../../streams/open-web-socket.ts'
import { failureError, refused } from './call-failure.ts'
import { impersonationHeaders, type Session } from './open-session.ts'

/** A request for a WebSocket. */
export interface StreamRequest {
  /** The path of the API, beginning with a slash, without a query. */
  readonly path: string
  readonly query?: URLSearchParams
  /** The WebSocket sub-protocol, such as `v5.channel.k8s.io`. */
  readonly protocol: string
  readonly userAgent: string
  /** Ends the attempt when it is aborted. */
  readonly signal: AbortSignal
}

/** The `Status.reason` for a status code, because a refused upgrade contains only the message of the Status. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
}

/**
 * Opens a WebSocket to the API server, as the user of the session. After a 401 it tries once more if there may be
 * another credential.
 * @throws NP_CLIENT_REFUSED with the server's reason, NP_CLIENT_CREDENTIAL without a credential, NP_STREAMS_CONNECT
 *   without an answer, NP_STREAMS_WEBSOCKET when the answer does not belong to this handshake
 */
export async function openStream(
  { connection, impersonation }: Session,
  request: StreamRequest,
): Promise<OpenWebSocket> {
  const { path, query, protocol, userAgent, signal } = request
  const { origin, basePath, credentials, tls, socketPath } = connection
  const search = query === undefined ? '' : `?${query.toString()}`
  const url = new URL(`${origin}${basePath}${path}${search}`)
  const attempt = async () => {
    // Credentials are sent only over TLS or a Unix socket.
    const isPrivate = tls !== undefined || socketPath !== undefined
    const credential = isPrivate ? await credentials.current() : {}
    const { authorization } = credential
    return openWebSocket({
      url,
      signal,
      protocols: [protocol],
      connection: await socketOptions(connection, credential),
      headers: {
        'User-Agent': userAgent,
        ...impersonationHeaders(impersonation),
        ...(authorization !== undefined && { Authorization: authorization }),
      },
    })
  }
  const first = await attempt()
  const isStale = 'statusCode' in first && first.statusCode === 401 && (await credentials.reject())
  const opened = isStale ? await attempt() : first
  if (!('statusCode' in opened)) return opened
  throw failureError(
    refused(opened.statusCode, {
      reason: REASONS[opened.statusCode] ?? '',
      message: opened.message,
    }),
  )
}

async function socketOptions(
  { tls, socketPath }: Connection,
  { certificate }: Credential,
): Promise<NonNullable<UpgradeOptions['connection']>> {
  return {
    ...(socketPath !== undefined && { socketPath }),
    ...(tls !== undefined && (await tlsOptions(tls, certificate))),
  }
}

async function tlsOptions(
  { material, serverName, insecureSkipVerify }: TlsSettings,
  certificate: Credential['certificate'],
): Promise<NonNullable<UpgradeOptions['connection']>> {
  const { ca, cert, key } = { ...(await material()), ...certificate }
  return {
    rejectUnauthorized: !insecureSkipVerify,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  }
}
