import { once } from 'node:events'
import { connect, type SecureContext, type TLSSocket } from 'node:tls'
import { MARK } from '../objects.ts'
import { Client } from './client.ts'
import type { Target } from './order.ts'

/** One watch on a connection of its own. It reads as cheaply as possible, so that one process can have many. */
export class Watcher implements Disposable {
  readonly #socket: TLSSocket
  #rest = ''

  private constructor(socket: TLSSocket, onLine: (line: string) => void) {
    this.#socket = socket
    socket.on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n')
      this.#rest = lines.pop() ?? ''
      for (const line of lines) if (line.startsWith('{')) onLine(line)
    })
  }

  /** Resolves when the server has begun its answer. `onLine` gets each event's JSON. */
  static async open(
    { target, path, secureContext }: WatchPlace,
    onLine: (line: string) => void,
  ): Promise<Watcher> {
    const { hostname, port } = new URL(target.url)
    const socket = connect({ host: hostname, port: Number(port), secureContext })
    socket.setEncoding('utf8').setNoDelay()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAccept: application/json\r\n\r\n`)
    const [head] = (await once(socket, 'data')) as [string]
    if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`${path}: ${head}`)
    return new Watcher(socket, onLine)
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }
}

export interface WatchPlace {
  readonly target: Target
  readonly path: string
  readonly secureContext: SecureContext
}

/** The path of a watch of a collection from its present revision on. */
export async function watchFromNow(target: Target, collection: string): Promise<string> {
  await using client = new Client(target, 1)
  const join = collection.includes('?') ? '&' : '?'
  const list = (await client.json(`${collection}${join}limit=1`)) as {
    readonly metadata: { readonly resourceVersion: string }
  }
  return `${collection}${join}watch=1&resourceVersion=${list.metadata.resourceVersion}`
}

/** The mark of the write that caused an event; undefined: it is not a write of the benchmark. */
export function markOf(line: string): string | undefined {
  const start = line.indexOf(`"${MARK}":"`)
  if (start < 0) return undefined
  const from = start + MARK.length + 4
  return line.slice(from, line.indexOf('"', from))
}
