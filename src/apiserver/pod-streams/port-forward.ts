import { StreamRefusal } from '../../streams/node-streams.ts'
import { PORT_FORWARD, TUNNELLED_PORT_FORWARD } from '../../streams/port-forward/protocol.ts'
import { serveForwarding } from '../../streams/port-forward/serve-forwarding.ts'
import { objectReader } from '../cache/object-reader.ts'
import type { ServerContext } from '../context/server-context.ts'
import { type HandlerResult, STREAMING, type StreamRequest } from '../request/api-request.ts'
import { StatusError } from '../status/status.ts'
import { undialable } from './dialable.ts'
import { findPod, refusalStatus } from './find-pod.ts'
import { offerStream } from './open-stream.ts'

const PROTOCOLS = { webSocket: [TUNNELLED_PORT_FORWARD], spdy: PORT_FORWARD }

/** `pods/portforward`: connections to ports of a Pod, as many as the client opens. */
export async function portForward(
  context: ServerContext,
  request: StreamRequest,
): Promise<HandlerResult> {
  const offer = offerStream(context, request, PROTOCOLS)
  if (offer instanceof StatusError) return offer
  const found = await findPod(context, request)
  if (found instanceof StatusError) return found
  const refused = undialable(found.pod, context.ownAddresses())
  if (refused !== undefined) return refused
  const dialer = await found.node.dialer(found.target)
  if (dialer instanceof StreamRefusal) return refusalStatus(dialer)
  const { clock } = context
  const { resource } = request.served
  const session = serveForwarding(offer.open(), {
    clock,
    connect: async (port) => {
      const pod = objectReader(context).get(resource, request.namespace, request.name)
      if (pod === undefined) return new StreamRefusal('absent', 'the pod is gone')
      const late = undialable(pod, context.ownAddresses())
      if (late !== undefined) return new StreamRefusal('invalid', late.status.message)
      return dialer.connect(port)
    },
  })
  void dialer.ended.then(() => session.close())
  void session.closed.then(() => dialer.close())
  return STREAMING
}
