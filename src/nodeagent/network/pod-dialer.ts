import { spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { NodeProxyError } from '../../lib/error.ts'
import { type PodDialer, StreamRefusal } from '../../streams/node-streams.ts'
import { createForwardingClient } from '../../streams/port-forward.ts'
import { namespaceNamed } from '../system/namespace.ts'

const PROGRAM = new URL('./pod-dialer-main.ts', import.meta.url).pathname

/**
 * Opens connections to a Pod, all by one process in its network namespace. The process carries the Pod's mark
 * and ends with the Pod, because the end of a Pod kills all processes in its namespace.
 */
export function openPodDialer(
  namespace: string,
  [name, value]: readonly [name: string, value: string],
): PodDialer | StreamRefusal {
  const [program = '', ...args] = namespaceNamed(namespace).inside([process.execPath, PROGRAM])
  const { PATH = '/usr/sbin:/usr/bin:/sbin:/bin', NODE_COMPILE_CACHE } = process.env
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    env: { PATH, [name]: value, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) },
    detached: true,
  })
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })
  if (child.pid === undefined) {
    return new StreamRefusal('failed', 'no process could be started for connections to the pod')
  }
  // Node's pipes are sockets, which carry both directions.
  const client = createForwardingClient(child.stdio[3] as Duplex)
  return {
    ended,
    connect: (port) =>
      client.connect(port).catch((error: unknown) => new StreamRefusal('failed', reasonOf(error))),
    close: () => {
      client.close()
      child.kill('SIGKILL')
    },
  }
}

function reasonOf(error: unknown): string {
  const isRefused = error instanceof NodeProxyError && error.code === 'NP_STREAMS_FORWARD'
  return isRefused ? error.message : 'the pod has ended'
}
