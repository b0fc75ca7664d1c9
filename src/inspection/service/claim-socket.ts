import { chmodSync, chownSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { connect, type Server } from 'node:net'
import { dirname } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'

/** Where the service listens, and who may connect. */
export interface InspectionAddress {
  /** An absolute path. */
  readonly socket: string
  /** The group whose members may connect, beside root. */
  readonly gid: number
}

/**
 * Listens on a Unix socket with mode 0660. A socket that an earlier run left is replaced, one at which a process
 * listens is not. Throws NP_INSPECTION_SOCKET.
 */
export async function claimSocket(
  server: Server,
  { socket, gid }: InspectionAddress,
): Promise<void> {
  try {
    mkdirSync(dirname(socket), { recursive: true, mode: 0o755 })
    await removeStale(socket)
    await listen(server, socket)
    chownSync(socket, 0, gid)
    chmodSync(socket, 0o660)
  } catch (cause) {
    if (cause instanceof NodeProxyError) throw cause
    const code = (cause as NodeJS.ErrnoException).code ?? String(cause)
    throw refused(socket, code, cause)
  }
}

/** The socket is created with mode 0600, so that no other user connects before it has its own. */
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
