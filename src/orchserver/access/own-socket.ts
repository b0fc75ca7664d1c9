import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ApiServer } from '../../apiserver/api-server.ts'
import type { User } from '../../auth/user.ts'
import { bearer, fixedCredential } from '../../client/connection/credential/credential.ts'
import { connectionBySocket } from '../../client/connection/load-connection.ts'
import { type ApiClient, createApiClient } from '../../client/http/api-client.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { ComponentTokens } from './component-tokens.ts'

/** The longest path of a socket that the kernel accepts, in bytes. */
const MAX_PATH_BYTES = 107

export interface OwnSocketOptions {
  readonly server: Pick<ApiServer, 'listen'>
  readonly dataDir: string
  readonly clock: Clock
  /** The tokens that identify the clients. */
  readonly tokens: Pick<ComponentTokens, 'tokenFor'>
}

/** How the controllers and the node agent of this process reach its server. */
export interface OwnSocket {
  /** A client that acts as `user`. `userAgent`: its name. */
  client(userAgent: string, user: User): ApiClient
}

/**
 * Lets the server also listen on a Unix socket in the data directory. Only the server's user can open it, so clients
 * need neither a certificate nor encryption. Each client authenticates with a token of this process. Closing the
 * server closes the socket.
 * @throws NP_ORCHSERVER_SOCKET
 */
export async function openOwnSocket({
  server,
  dataDir,
  clock,
  tokens,
}: OwnSocketOptions): Promise<OwnSocket> {
  const socketPath = socketPathIn(dataDir)
  await removeOld(socketPath)
  await server.listen({ socketPath })
  await chmod(socketPath, 0o600)
  return {
    client: (userAgent, user) => {
      const credentials = fixedCredential(bearer(tokens.tokenFor(user)))
      const connection = connectionBySocket(socketPath, credentials)
      return createApiClient({ connection, userAgent, clock })
    },
  }
}

/**
 * Where the socket of a data directory is.
 * @throws NP_ORCHSERVER_SOCKET when the path is longer than the kernel accepts
 */
export function socketPathIn(dataDir: string): string {
  const path = join(dataDir, 'server.sock')
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw tooLong(path)
  return path
}

/** Removes the socket of a server that was killed. */
async function removeOld(path: string): Promise<void> {
  try {
    await rm(path, { force: true })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new NodeProxyError('NP_ORCHSERVER_SOCKET', `${path} cannot be removed: ${code}`, {
      object: path,
      hint: 'remove what is at that path: this server needs it for its socket',
      cause,
    })
  }
}

function tooLong(path: string): NodeProxyError {
  return new NodeProxyError(
    'NP_ORCHSERVER_SOCKET',
    `the path of a socket may have ${MAX_PATH_BYTES} bytes, and ${path} has more`,
    { object: path, hint: 'choose a data directory with a shorter path (--data-dir)' },
  )
}
