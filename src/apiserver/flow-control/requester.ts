import type { IncomingMessage } from 'node:http'

/** Who asks, as far as the flow of requests is concerned. */
export interface Requester {
  /** Requests with the same text wait behind each other. */
  readonly client: string
  /** Part of the cluster itself: has places of its own. */
  readonly isSystem: boolean
}

/** Those without whom the cluster stands still. */
const SYSTEM_PROGRAM =
  /^(?:orch-[a-z]+|node-(?:agent|proxy)|kube-(?:controller-manager|proxy|scheduler)|kubelet)\//

/** Tells requests apart by address and program, because there are no users yet. */
export function requesterOf({ socket, headers }: IncomingMessage): Requester {
  const program = headers['user-agent'] ?? ''
  const client = `${socket.remoteAddress ?? ''} ${program}`
  return { client, isSystem: SYSTEM_PROGRAM.test(program) }
}
