import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { NodeProxyError } from '../../lib/error.ts'
import type { CommandContext } from '../command/context.ts'
import type { PodConnection } from './pod-connection.ts'

export interface RelayOptions {
  readonly connection: PodConnection
  /** The number or name of the port. */
  readonly remote: string
  readonly context: CommandContext
}

/** Connects a client of this machine with a port of the Pod, until both have ended. */
export async function relay(
  client: Socket,
  { connection, remote, context }: RelayOptions,
): Promise<void> {
  client.on('error', () => undefined)
  const end = (): void => void client.destroy()
  context.host.signal.addEventListener('abort', end, { once: true })
  try {
    const pod = await connection.connect(remote)
    await join(client, pod)
  } catch (error) {
    if (isRefusal(error)) connection.leave()
    client.resetAndDestroy()
    if (!context.host.signal.aborted) context.notice(`port ${remote}: ${messageOf(error)}`)
  } finally {
    context.host.signal.removeEventListener('abort', end)
  }
}

/** Each direction ends on its own; an error of one ends both. */
async function join(client: Socket, pod: Duplex): Promise<void> {
  const directions = [pipeline(client, pod), pipeline(pod, client)]
  try {
    await Promise.all(directions)
  } catch (error) {
    if (!client.destroyed) client.resetAndDestroy()
    pod.destroy()
    await Promise.allSettled(directions)
    if (pod.errored !== null) throw error
  }
}

/** Whether the Pod, or its node, did not take the connection. */
function isRefusal(error: unknown): boolean {
  return error instanceof NodeProxyError && error.code === 'NP_STREAMS_FORWARD'
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
