import type { IncomingMessage } from 'node:http'

/** The sender of a request, as flow control sees it. */
export interface Requester {
  /** Requests with the same text share a queue. */
  readonly client: string
  /** Whether it is a component of the cluster, which has concurrency slots of its own. */
  readonly isSystem: boolean
}

/** The User-Agents of components that the cluster needs to run. */
const SYSTEM_PROGRAM =
  /^(?:orch-[a-z]+|node-(?:agent|proxy)|kube-(?:controller-manager|proxy|scheduler)|kubelet)\//

/** Identifies the sender by address and User-Agent, because there are no users yet. */
export function requesterOf({ socket, headers }: IncomingMessage): Requester {
  const program = headers['user-agent'] ?? ''
  const client = `${socket.remoteAddress ?? ''} ${program}`
  return { client, isSystem: SYSTEM_PROGRAM.test(program) }
}
