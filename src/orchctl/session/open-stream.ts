import type { Connection, TlsSettings } from '../../client/connection/connection.ts'
import type { Credential } from '../../client/connection/credential/credential.ts'
import {
  type OpenWebSocket,
  openWebSocket,
  type UpgradeOptions,
} from '../../streams/open-web-socket.ts'
import { failureError, refused } from './call-failure.ts'
import { impersonationHeaders, type Session } from './open-session.ts'

export interface StreamRequest {
  /** Absolute, without a query. */
  readonly path: string
  readonly query?: URLSearchParams
  readonly protocol: string
  readonly userAgent: string
  /** Aborted: ends the attempt. */
  readonly signal: AbortSignal
}

/** Opens a WebSocket to the API server, as the user of the session. @throws NodeProxyError with the server's reason */
export async function openStream(
  { connection, impersonation }: Session,
  request: StreamRequest,
): Promise<OpenWebSocket> {
  const { path, query, protocol, userAgent, signal } = request
  const { origin, basePath, credentials, tls, socketPath } = connection
  const search = query === undefined ? '' : `?${query.toString()}`
  const url = new URL(`${origin}${basePath}${path}${search}`)
  const attempt = async () => {
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

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
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
