import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { claimSocket, type InspectionAddress } from './claim-socket.ts'
import type { InspectionServer } from './grpc-server.ts'
import type { InspectionSource } from './inspection-source.ts'

/** Connections at one time; further ones wait. */
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
