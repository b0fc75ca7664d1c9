import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import type { Connection } from '../connection/connection.ts'
import type { Credential } from '../connection/credential/credential.ts'
import { certificateValidity } from '../connection/credential/validity.ts'
import type { ClientObserver } from './client-observer.ts'
import { buildConnector as connectorOf } from './undici.ts'

/** The time for connecting by TCP and TLS together. */
export const CONNECT_TIMEOUT_MS = 10_000
/** A peer that no longer answers is noticed after 15 s + 3 × 5 s. */
const KEEP_ALIVE = { enable: true, initialDelay: 15_000, interval: 5_000, count: 3 }

export interface ConnectorOptions {
  /** The certificate of the credential, which takes precedence over the connection's. */
  readonly certificate: Credential['certificate']
  readonly observer: Pick<ClientObserver, 'authenticated'>
  /** Receives the certificate (PEM) of each new connection; undefined if it has none. */
  readonly onCertificate?: (cert: string | undefined) => void
  /**
   * Returns an existing connection to the server, each once; undefined if there is none left, so that a new one is
   * opened.
   */
  readonly opened?: (() => Socket | undefined) | undefined
}

/**
 * Opens sockets to one server, for HTTP/1.1 only. Reads the TLS files for each socket, and detects a dead peer by TCP
 * keep-alive within half a minute.
 */
export function createConnector(
  connection: Connection,
  options: ConnectorOptions,
): buildConnector.connector {
  const servername = connection.tls?.serverName
  return (requested, callback) => {
    const socket = options.opened?.()
    if (socket !== undefined && !socket.destroyed) {
      socket.setKeepAlive(KEEP_ALIVE)
      // undici does not start a request while it is calling this function.
      queueMicrotask(() => callback(null, socket))
      return
    }
    const target = servername === undefined ? requested : { ...requested, servername }
    connectorOptions(connection, options).then(
      (built) => openSocket(built, target, callback),
      (error: unknown) => callback(asError(error), null),
    )
  }
}

function openSocket(
  built: buildConnector.BuildOptions,
  options: buildConnector.Options,
  callback: buildConnector.Callback,
): void {
  try {
    connectorOf(built)(options, (...result) => {
      result[1]?.setKeepAlive(KEEP_ALIVE)
      callback(...result)
    })
  } catch (error) {
    callback(asError(error), null)
  }
}

async function connectorOptions(
  { tls, socketPath }: Connection,
  { certificate, observer, onCertificate }: ConnectorOptions,
): Promise<buildConnector.BuildOptions> {
  const base = {
    allowH2: false,
    timeout: CONNECT_TIMEOUT_MS,
    keepAlive: false,
    ...(socketPath !== undefined && { socketPath }),
  }
  if (tls === undefined) return base
  const { ca, cert, key } = { ...(await tls.material()), ...certificate }
  onCertificate?.(cert)
  if (cert !== undefined) observer.authenticated('certificate', certificateValidity(cert))
  return {
    ...base,
    maxCachedSessions: 0,
    rejectUnauthorized: !tls.insecureSkipVerify,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
