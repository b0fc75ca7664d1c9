import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { decode, encode } from 'dns-packet'

/** A client with one socket, which sends questions without waiting for earlier answers. */
export class Resolver {
  readonly #socket: Socket
  readonly #port: number
  readonly #waiting = new Map<number, (response: Buffer) => void>()
  #id = 0

  private constructor(socket: Socket, port: number) {
    this.#socket = socket
    this.#port = port
    socket.on('message', (response) => {
      const id = response.readUInt16BE(0)
      this.#waiting.get(id)?.(response)
      this.#waiting.delete(id)
    })
  }

  static async open(port: number): Promise<Resolver> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new Resolver(socket, port)
  }

  /** The addresses of a name. */
  async addresses(name: string): Promise<readonly string[]> {
    const { answers = [] } = decode(await this.#query(name))
    return answers.flatMap((answer) => (answer.type === 'A' ? [answer.data] : []))
  }

  /** Milliseconds until the answer. */
  async time(name: string): Promise<number> {
    const began = performance.now()
    await this.#query(name)
    return performance.now() - began
  }

  close(): void {
    this.#socket.close()
  }

  #query(name: string): Promise<Buffer> {
    this.#id = (this.#id + 1) & 0xffff
    const { promise, resolve } = Promise.withResolvers<Buffer>()
    this.#waiting.set(this.#id, resolve)
    const questions = [{ type: 'A', name } as const]
    this.#socket.send(encode({ id: this.#id, questions }), this.#port, '127.0.0.1')
    return promise
  }
}
