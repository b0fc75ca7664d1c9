import type { EntryId } from '../../../forwarding/entry.ts'
import { socketAddress } from '../../../kernel/sockets/socket-address.ts'
import type { Sockets } from '../../../kernel/sockets/sockets.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { KernelError } from '../../mode.ts'
import type { Route } from '../route.ts'
import { type ListenerAddress, listenerKey } from '../worker/listener-address.ts'
import type { Listener } from '../worker/messages.ts'
import type { SocketCounts } from './successor.ts'
import { WantedListeners } from './wanted-listeners.ts'

/** What changes in one worker's listeners. */
export interface ListenerChange {
  readonly open: readonly Listener[]
  readonly close: readonly number[]
}

/** One for each worker; TCP sockets are one and the same. */
type ListenerSockets = readonly number[]

/** With the other workers, and with the process that follows this one. */
const SHARED = { shared: true } as const

/** Sockets at the addresses of `bindings`, one listener for each address. */
export class BoundListeners {
  readonly #sockets: Sockets
  readonly #workers: number
  readonly #open = new Map<string, ListenerSockets>()
  readonly #wanted = new WantedListeners()

  constructor(sockets: Sockets, workers: number) {
    this.#sockets = sockets
    this.#workers = workers
  }

  /** How many sockets this process has at each listener. */
  get open(): SocketCounts {
    return new Map([...this.#open].map(([key, sockets]) => [key, new Set(sockets).size]))
  }

  /** What each worker must open and close, and the routes of which a listener cannot be opened. */
  apply(changes: ReadonlyMap<EntryId, Route | undefined>): {
    readonly changes: readonly ListenerChange[]
    readonly refused: ReadonlyMap<EntryId, KernelError>
  } {
    const { open, close } = this.#wanted.plan(changes)
    const refused = new Map<EntryId, KernelError>()
    const opened = open.filter((at) => {
      const refusal = this.#openListener(at)
      if (refusal) for (const id of this.#wanted.refuse(at)) refused.set(id, refusal)
      return refusal === undefined
    })
    return { changes: this.#changes(opened, close.map(listenerKey)), refused }
  }

  #changes(opened: readonly ListenerAddress[], gone: readonly string[]): readonly ListenerChange[] {
    const changes = Array.from({ length: this.#workers }, (_, worker) => ({
      open: opened.flatMap((at) => this.#listener(at, worker)),
      close: gone.flatMap((key) => this.#open.get(key)?.[worker] ?? []),
    }))
    for (const key of gone) this.#open.delete(key)
    return changes
  }

  #listener(at: ListenerAddress, worker: number): readonly Listener[] {
    const socket = this.#open.get(listenerKey(at))?.[worker]
    if (socket === undefined) return []
    const { protocol, ip, port } = at
    return [{ socket, protocol, side: 'others', at: socketAddress(ip, port) }]
  }

  #openListener(at: ListenerAddress): KernelError | undefined {
    try {
      this.#open.set(listenerKey(at), at.protocol === 'TCP' ? this.#tcp(at) : this.#udp(at))
      return undefined
    } catch (error) {
      if (!(error instanceof NodeProxyError)) throw error
      return { code: 'NP_USERSPACE_LISTEN', message: error.message }
    }
  }

  #tcp({ ip, port }: ListenerAddress): ListenerSockets {
    const socket = this.#sockets.listenTcp(ip, port, SHARED)
    return Array.from({ length: this.#workers }, () => socket)
  }

  #udp({ ip, port }: ListenerAddress): ListenerSockets {
    const sockets: number[] = []
    try {
      while (sockets.length < this.#workers) sockets.push(this.#sockets.bindUdp(ip, port, SHARED))
      return sockets
    } catch (error) {
      for (const socket of sockets) this.#sockets.sys.close(socket)
      throw error
    }
  }
}
