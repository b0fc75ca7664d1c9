import { receiveMessageOnPort, workerData } from 'node:worker_threads'
import { monotonicMs } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { endFastCalls } from '../sockets/fast-calls.ts'
import { Poller } from '../sockets/poller.ts'
import { openSyscalls } from '../sockets/syscalls.ts'
import { LinkResponder } from './link-responder.ts'
import type { AddressConflict, LinkStatus } from './neighbour-responder.ts'
import { checkPacketSockets } from './packet-socket.ts'
import {
  COUNTERS,
  type ResponderMessage,
  type ResponderOrder,
  type ResponderSetup,
  type SentError,
} from './worker-responder.ts'

/** The longest time of one epoll_wait(2): between two of them the thread can be ended from outside. */
const MAX_WAIT_MS = 1_000

run(workerData as ResponderSetup)

/** The life of the thread: it waits in the kernel, so it answers also while the main thread is busy. */
function run({ device, port, wake, counts }: ResponderSetup): void {
  endFastCalls()
  const send = (message: ResponderMessage) => port.postMessage(message)
  const sys = openSyscalls()
  if (sys === undefined) throw new TypeError('a responder needs node:ffi')
  const poller = new Poller(sys)
  const handlers = {
    onConflict: (conflict: AddressConflict) => send({ kind: 'conflict', conflict }),
    onLink(status: LinkStatus) {
      if (status.state === 'failed') send({ kind: 'failed', error: sentError(status.error) })
      else send({ kind: 'link', status })
    },
  }
  const count = (counter: (typeof COUNTERS)[number]) => {
    counts[COUNTERS.indexOf(counter)]! += 1
  }
  let responder: LinkResponder
  try {
    checkPacketSockets(sys)
    responder = new LinkResponder({ sys, poller, device, handlers, count }, monotonicMs())
  } catch (error) {
    poller.close()
    return send({ kind: 'refused', error: sentError(error) })
  }
  send({ kind: 'opened' })
  poller.addReadable(wake)
  const memory = sys.allocate(8)
  let isEnded = false
  const onReady = (descriptor: number) => {
    if (descriptor !== wake) return responder.ready(descriptor, monotonicMs())
    sys.read(wake, memory.address, 8)
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      const { number, addresses } = next.message as ResponderOrder
      isEnded ||= addresses === undefined
      responder.announce(addresses ?? new Map(), monotonicMs())
      send({ kind: 'done', number })
    }
  }
  while (!isEnded) {
    const wait = Math.ceil(responder.nextAt() - monotonicMs())
    poller.wait(Math.max(0, Math.min(wait, MAX_WAIT_MS)), onReady)
    responder.tick(monotonicMs())
  }
  responder.close()
  poller.close()
}

function sentError(error: unknown): SentError {
  if (!(error instanceof NodeProxyError)) throw error
  const { code, message, hint } = error
  return hint === undefined ? { code, message } : { code, message, hint }
}
