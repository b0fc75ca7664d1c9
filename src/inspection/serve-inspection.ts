import { chmodSync, chownSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { NodeProxyError } from '../lib/error.ts'
import type { InspectionServer } from './grpc-server.ts'
import type { InspectionSource } from './inspection-source.ts'

/** The most connections at the same time; further ones are closed at once. */
const MAX_CONNECTIONS = 32

/** Serves inspection until it is closed. The gRPC library is loaded with the first connection. */
export async function serveInspection(
  address: InspectionAddress,
  source: InspectionSource,
  onError: (error: unknown) => void,
): Promise<{ close(): Promise<void> }> {
  const state: { server: Promise<InspectionServer> | undefined } = { server: undefined }
  const listener = createServer({ pauseOnConnect: true }, (connection: Socket) => {
    connection.once('error', () => connection.destroy())
    state.server ??= load(source)
    state.server.then(
      (server) => {
        server.inject(connection)
        connection.resume()
      },
      (error: unknown) => {
        onError(error)
        connection.destroy()
      },
    )
  })
  listener.maxConnections = MAX_CONNECTIONS
  await claimSocket(listener, address)
  listener.on('error', onError)
  return {
    async close() {
      listener.close()
      rmSync(address.socket, { force: true })
      const server = await state.server?.catch(() => undefined)
      server?.close()
    },
  }
}

async function load(source: InspectionSource): Promise<InspectionServer> {
  const { createInspectionServer } = await import('./grpc-server.ts')
  return createInspectionServer(source)
}

/** Where the service listens, and who may connect. */
interface InspectionAddress {
  /** An absolute path. */
  readonly socket: string
  /** The group whose members may connect, in addition to root. */
  readonly gid: number
}

/**
 * Listens on a Unix socket with mode 0660. Replaces a socket that an earlier run left, but not one on which a process
 * listens. Throws NP_INSPECTION_SOCKET.
 */
async function claimSocket(server: Server, { socket, gid }: InspectionAddress): Promise<void> {
  try {
    mkdirSync(dirname(socket), { recursive: true, mode: 0o755 })
    await removeStale(socket)
    await listen(server, socket)
    chownSync(socket, 0, gid)
    chmodSync(socket, 0o660)
  } catch (cause) {
    // Also removes the socket, if it is this server's.
    server.close()
    if (cause instanceof NodeProxyError) throw cause
    const code = (cause as NodeJS.ErrnoException).code ?? String(cause)
    throw refused(socket, code, cause)
  }
}

/** Creates the socket with mode 0600, so that no other user can connect before its mode and group are set. */
async function listen(server: Server, socket: string): Promise<void> {
  const before = process.umask(0o177)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  try {
    server.listen(socket, resolve)
  } finally {
    process.umask(before)
  }
  await promise
  server.removeListener('error', reject)
}

async function removeStale(socket: string): Promise<void> {
  const found = lstatSync(socket, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket()) throw refused(socket, 'a file of that name is no socket')
  if (await isAnswered(socket)) throw refused(socket, 'another process listens there')
  rmSync(socket)
}

function isAnswered(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socket, () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })
}

function refused(socket: string, reason: string, cause?: unknown): NodeProxyError {
  return new NodeProxyError(
    'NP_INSPECTION_SOCKET',
    `the inspection service cannot listen on ${socket}: ${reason}`,
    {
      object: socket,
      hint: 'set inspection.socket to a path of its own for each node-proxy, or "" to do without',
      ...(cause === undefined ? {} : { cause }),
    },
  )
}
