import type { Request } from '../environment/request.ts'
import { REQUESTS } from '../environment/requests.ts'
import type { Sandbox } from '../environment/sandbox.ts'
import { send } from '../tour/run-tour.ts'
import type { Asked } from './screen/view.ts'

/** One request each so often; silent ones run on beside their successors. */
const EVERY_MS = 250
const TIMEOUT_MS = 1500

/** What is asked in turn: mostly the Service that the keys scale. */
const TURNS: readonly Request[] = [
  REQUESTS.clientToPublic,
  REQUESTS.podToWeb,
  REQUESTS.clientToPublic,
  REQUESTS.clientToLocal,
  REQUESTS.clientToPublic,
  REQUESTS.clientToCart,
  REQUESTS.clientToPublic,
  REQUESTS.strangerToCart,
  REQUESTS.clientToPublic,
  REQUESTS.clientToBalanced,
  REQUESTS.clientToPublic,
  REQUESTS.clientToEmpty,
  REQUESTS.clientToPublic,
  REQUESTS.strangerToBalanced,
]

/** Sends requests until the returned function is called. */
export function startStream(sandbox: Sandbox, onAsked: (asked: Asked) => void): () => void {
  let turn = 0
  let stopped = false
  const timer = setInterval(() => {
    const request = TURNS[turn++ % TURNS.length]
    if (request === undefined) return
    const at = Date.now()
    void send(sandbox, request, TIMEOUT_MS).then((reply) => {
      if (!stopped) onAsked({ at, request, reply })
    })
  }, EVERY_MS)
  return () => {
    stopped = true
    clearInterval(timer)
  }
}
