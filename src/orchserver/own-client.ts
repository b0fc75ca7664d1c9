import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ApiServer } from '../apiserver/api-server.ts'
import { type ApiClient, createApiClient } from '../client/api-client.ts'
import { anonymous } from '../client/credential.ts'
import type { Clock } from '../lib/clock.ts'
import { NodeProxyError } from '../lib/error.ts'

/** What the kernel takes as the path of a socket, in bytes. */
const LONGEST_PATH = 107

export interface OwnClientOptions {
  readonly server: Pick<ApiServer, 'listen'>
  readonly dataDir: string
  readonly userAgent: string
  readonly clock: Clock
}

/**
 * A client of the server of this process, for those who work beside it. It needs
 * no certificate: it goes through a Unix socket in the data directory, which only
 * the server's user can reach. The server closes the socket itself.
 * @throws NP_ORCHSERVER_SOCKET
 */
export async function openOwnClient(options: OwnClientOptions): Promise<ApiClient> {
  const { server, dataDir, userAgent, clock } = options
  const socketPath = join(dataDir, 'server.sock')
  if (Buffer.byteLength(socketPath) > LONGEST_PATH) throw tooLong(socketPath)
  await rm(socketPath, { force: true })
  const { url } = await server.listen({ socketPath })
  await chmod(socketPath, 0o600)
  return createApiClient({
    connection: {
      ...{ origin: url, basePath: '', socketPath, source: socketPath },
      tls: undefined,
      credentials: anonymous,
    },
    ...{ userAgent, clock },
  })
}

function tooLong(path: string): NodeProxyError {
  return new NodeProxyError(
    'NP_ORCHSERVER_SOCKET',
    `the path of a socket may have ${LONGEST_PATH} bytes, and ${path} has more`,
    { object: path, hint: 'choose a data directory with a shorter path (--data-dir)' },
  )
}
