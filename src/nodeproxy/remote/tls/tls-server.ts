import type { RequestListener, ServerOptions } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import { CertifiedConnections } from '../../../lib/tls/certified-connections.ts'
import type { ServingFiles } from './serving-files.ts'

/** Milliseconds for a TLS handshake. */
const HANDSHAKE_MS = 5_000

/** The HTTPS server of one listener, whose files may be replaced while it serves. */
export interface TlsServer {
  /** A server with the present files. The listener opens another one where it could not listen with the last. */
  open(limits: ServerOptions, handler: RequestListener): Server
  /** New connections have the new files; those whose client certificate no authority of them signed are ended. */
  replace(files: ServingFiles): void
}

export function tlsServer(first: ServingFiles): TlsServer {
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
 * A certificate that no authority signed does not end the handshake: it proves nothing. An empty list keeps Node
 * from trusting the authorities of the machine where no others are given.
 */
function contextOf({ cert, key, ca }: ServingFiles): SecureContextOptions {
  return { cert, key, ca: ca ?? [], minVersion: 'TLSv1.2' }
}
