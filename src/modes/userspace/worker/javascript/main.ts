import { Mutex } from '../../../../lib/mutex.ts'
import { Dispatcher, HOUSEKEEPING_MS } from '../dispatcher.ts'
import { type DoorAddress, doorKey } from '../listener-address.ts'
import type { Answer, DoorChange, Order, WorkerSetup } from '../messages.ts'
import { BufferPool } from './buffer-pool.ts'
import type { DoorParts, OpenDoor } from './open-listener.ts'
import { openTcpDoor } from './tcp-listener.ts'
import { openUdpDoor } from './udp-listener.ts'

const LARGE_BUFFER_BYTES = 1 << 18
const MOST_LARGE_BUFFERS = 64

type Refused = NonNullable<Answer['refused']>

/** The life of a JavaScript worker, from its setup to the order to end, in Node's event loop. */
export function runJavascriptWorker(setup: WorkerSetup): void {
  const worker = new JavascriptWorker(setup)
  const turns = new Mutex()
  setup.port.on('message', (order: Order) => {
    void turns.run(() => worker.obey(order))
  })
}

class JavascriptWorker {
  readonly #setup: WorkerSetup
  readonly #dispatcher: Dispatcher
  readonly #parts: DoorParts
  readonly #doors = new Map<string, OpenDoor>()
  readonly #housekeeping: NodeJS.Timeout

  constructor(setup: WorkerSetup) {
    this.#setup = setup
    this.#dispatcher = new Dispatcher(setup, Date.now)
    const { switchboard, book, selection } = this.#dispatcher
    this.#parts = {
      ...{ ...selection, switchboard, book },
      buffers: new BufferPool(LARGE_BUFFER_BYTES, MOST_LARGE_BUFFERS),
      connectMs: setup.limits.connectMs,
    }
    this.#housekeeping = setInterval(() => {
      this.#dispatcher.keepHouse(Date.now())
    }, HOUSEKEEPING_MS)
  }

  async obey(order: Order): Promise<void> {
    await this.#close((order.doors?.close ?? []).map(doorKey))
    this.#dispatcher.take(order, Date.now())
    const refused = order.doors && (await this.#open(order.doors))
    const answer: Answer = { number: order.number, ...(refused && { refused }) }
    this.#setup.port.postMessage(answer)
    if (order.end) await this.#end()
  }

  async #open({ open }: DoorChange): Promise<Refused> {
    const results = await Promise.all(open.map((at) => this.#openDoor(at)))
    return results.filter((result) => result !== undefined)
  }

  async #openDoor(at: DoorAddress): Promise<Refused[number] | undefined> {
    const openDoor = at.protocol === 'TCP' ? openTcpDoor : openUdpDoor
    try {
      this.#doors.set(doorKey(at), await openDoor(this.#parts, at))
      return undefined
    } catch (error) {
      const { code = String(error) } = error as NodeJS.ErrnoException
      return [doorKey(at), code]
    }
  }

  async #close(keys: Iterable<string>): Promise<void> {
    const doors = [...keys].flatMap((key) => {
      const door = this.#doors.get(key)
      this.#doors.delete(key)
      return door ?? []
    })
    await Promise.all(doors.map((door) => door.close()))
  }

  /** Nothing is left that keeps this thread alive. */
  async #end(): Promise<void> {
    clearInterval(this.#housekeeping)
    await this.#close(this.#doors.keys())
    this.#dispatcher.book.abortAll()
    this.#setup.port.close()
  }
}
