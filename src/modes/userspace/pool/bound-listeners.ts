import type { EntryId } from '../../../forwarding/entry.ts'
import { socketAddress } from '../../../kernel/sockets/socket-address.ts'
import type { Sockets } from '../../../kernel/sockets/sockets.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { KernelError } from '../../mode.ts'
import type { Route } from '../route.ts'
import { type DoorAddress, doorKey } from '../worker/listener-address.ts'
import type { Listener } from '../worker/messages.ts'
import type { OpenDoors } from './successor.ts'
import { WantedDoors } from './wanted-listeners.ts'

/** What changes in one worker's listeners. */
export interface ListenerChange {
  readonly open: readonly Listener[]
  readonly close: readonly number[]
}

/** One for each worker; TCP sockets are one and the same. */
type DoorSockets = readonly number[]

/** With the other workers, and with the process that follows this one. */
const SHARED = { shared: true } as const

/** Sockets at the very addresses at which Services are to be found. */
export class DoorListeners {
  readonly #sockets: Sockets
  readonly #workers: number
  readonly #open = new Map<string, DoorSockets>()
  readonly #wanted = new WantedDoors()

  constructor(sockets: Sockets, workers: number) {
    this.#sockets = sockets
    this.#workers = workers
  }

  /** By `doorKey`: the sockets at each. */
  get open(): OpenDoors {
    return new Map([...this.#open].map(([key, sockets]) => [key, new Set(sockets).size]))
  }

  /** What each worker must open and close, and the routes of which a door cannot be opened. */
  apply(changes: ReadonlyMap<EntryId, Route | undefined>): {
    readonly changes: readonly ListenerChange[]
    readonly refused: ReadonlyMap<EntryId, KernelError>
  } {
    const { open, close } = this.#wanted.plan(changes)
    const refused = new Map<EntryId, KernelError>()
    const opened = open.filter((at) => {
      const refusal = this.#openDoor(at)
      if (refusal) for (const id of this.#wanted.refuse(at)) refused.set(id, refusal)
      return refusal === undefined
    })
    return { changes: this.#changes(opened, close.map(doorKey)), refused }
  }

  #changes(opened: readonly DoorAddress[], gone: readonly string[]): readonly ListenerChange[] {
    const changes = Array.from({ length: this.#workers }, (_, worker) => ({
      open: opened.flatMap((at) => this.#listener(at, worker)),
      close: gone.flatMap((key) => this.#open.get(key)?.[worker] ?? []),
    }))
    for (const key of gone) this.#open.delete(key)
    return changes
  }

  #listener(at: DoorAddress, worker: number): readonly Listener[] {
    const socket = this.#open.get(doorKey(at))?.[worker]
    if (socket === undefined) return []
    const { protocol, ip, port } = at
    return [{ socket, protocol, side: 'others', at: socketAddress(ip, port) }]
  }

  #openDoor(at: DoorAddress): KernelError | undefined {
    try {
      this.#open.set(doorKey(at), at.protocol === 'TCP' ? this.#tcp(at) : this.#udp(at))
      return undefined
    } catch (error) {
      if (!(error instanceof NodeProxyError)) throw error
      return { code: 'NP_USERSPACE_LISTEN', message: error.message }
    }
  }

  #tcp({ ip, port }: DoorAddress): DoorSockets {
    const socket = this.#sockets.listenTcp(ip, port, SHARED)
    return Array.from({ length: this.#workers }, () => socket)
  }

  #udp({ ip, port }: DoorAddress): DoorSockets {
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
