import { Mutex } from '../../../../lib/mutex.ts'
import { Dispatcher, MAINTENANCE_MS } from '../dispatcher.ts'
import { type ListenerAddress, listenerKey } from '../listener-address.ts'
import type { Answer, ListenerOrder, Order, WorkerSetup } from '../messages.ts'
import type { ListenerParts, OpenListener } from './open-listener.ts'
import { BufferPool } from './read-buffer.ts'
import { openTcpListener } from './tcp-listener.ts'
import { openUdpListener } from './udp-listener.ts'

const LARGE_BUFFER_BYTES = 1 << 18
const MAX_LARGE_BUFFERS = 64

type Refused = NonNullable<Answer['refused']>

/** The life of a JavaScript worker, from its setup to the order to end, in Node's event loop. */
export function runJavascriptWorker(setup: WorkerSetup): void {
  const worker = new JavascriptWorker(setup)
  const turns = new Mutex()
  setup.port.on('message', (order: Order) => {
    void turns.run(() => worker.carryOut(order))
  })
}

class JavascriptWorker {
  readonly #setup: WorkerSetup
  readonly #dispatcher: Dispatcher
  readonly #parts: ListenerParts
  readonly #listeners = new Map<string, OpenListener>()
  readonly #maintenance: NodeJS.Timeout

  constructor(setup: WorkerSetup) {
    this.#setup = setup
    this.#dispatcher = new Dispatcher(setup, Date.now)
    const { routeTable, sessionTable, selection } = this.#dispatcher
    this.#parts = {
      ...{ ...selection, routeTable, sessionTable },
      buffers: new BufferPool(LARGE_BUFFER_BYTES, MAX_LARGE_BUFFERS),
      connectMs: setup.limits.connectMs,
    }
    this.#maintenance = setInterval(() => {
      this.#dispatcher.runMaintenance(Date.now())
    }, MAINTENANCE_MS)
  }

  async carryOut(order: Order): Promise<void> {
    await this.#close((order.listeners?.close ?? []).map(listenerKey))
    this.#dispatcher.apply(order, Date.now())
    const refused = order.listeners && (await this.#open(order.listeners))
    const answer: Answer = { ...this.#dispatcher.answerTo(order), ...(refused && { refused }) }
    this.#setup.port.postMessage(answer)
    if (order.end) await this.#end()
  }

  async #open({ open }: ListenerOrder): Promise<Refused> {
    const results = await Promise.all(open.map((at) => this.#openListener(at)))
    return results.filter((result) => result !== undefined)
  }

  async #openListener(at: ListenerAddress): Promise<Refused[number] | undefined> {
    const openListener = at.protocol === 'TCP' ? openTcpListener : openUdpListener
    try {
      this.#listeners.set(listenerKey(at), await openListener(this.#parts, at))
      return undefined
    } catch (error) {
      const { code = String(error) } = error as NodeJS.ErrnoException
      return [listenerKey(at), code]
    }
  }

  async #close(keys: Iterable<string>): Promise<void> {
    const listeners = [...keys].flatMap((key) => {
      const listener = this.#listeners.get(key)
      this.#listeners.delete(key)
      return listener ?? []
    })
    await Promise.all(listeners.map((listener) => listener.close()))
  }

  /** Afterwards no handle keeps this thread alive. */
  async #end(): Promise<void> {
    clearInterval(this.#maintenance)
    await this.#close(this.#listeners.keys())
    this.#dispatcher.sessionTable.abortAll()
    this.#setup.port.close()
  }
}
