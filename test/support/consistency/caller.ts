import { Client } from 'undici'
import type { JsonObject } from '../../../src/lib/json.ts'
import type { OrchServerProcess } from '../orchserver/orch-server-process.ts'

export interface CallRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly contentType?: string
}

export interface Reply {
  readonly status: number
  readonly body: JsonObject
}

/** `unreached`: the request certainly had no effect. `unanswered`: whether it had one is unknown. */
export type CallOutcome = Reply | 'unreached' | 'unanswered'

/** Longer than the server waits for its store. */
const ANSWER_MS = 15_000

/**
 * One client of one or more servers, over one HTTPS connection at a time. It uses a server until a request to it fails,
 * and then the next one.
 */
export class Caller implements AsyncDisposable {
  readonly #servers: readonly OrchServerProcess[]
  readonly #clients = new Map<OrchServerProcess, Client>()
  #turn: number

  constructor(servers: readonly OrchServerProcess[], turn = 0) {
    this.#servers = servers
    this.#turn = turn
  }

  async send({ method, path, body, contentType = 'application/json' }: CallRequest) {
    return this.#attempt(async (client): Promise<CallOutcome> => {
      const headers = { 'content-type': contentType }
      const sent = body === undefined ? null : JSON.stringify(body)
      const answer = await client.request({ method, path, headers, body: sent })
      return { status: answer.statusCode, body: (await answer.body.json()) as JsonObject }
    })
  }

  /** Passes on the lines of a streamed answer until it breaks or ends, or `signal` is aborted. */
  async stream(path: string, onLine: (line: string) => void, signal: AbortSignal) {
    return this.#attempt(async (client): Promise<CallOutcome> => {
      const answer = await client.request({ method: 'GET', path, bodyTimeout: 0, signal })
      const decoder = new TextDecoder()
      let rest = ''
      for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
        rest = lines.pop()!
        if (answer.statusCode === 200) for (const line of lines) onLine(line)
      }
      return { status: answer.statusCode, body: {} }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.destroy()))
  }

  async #attempt(call: (client: Client) => Promise<CallOutcome>): Promise<CallOutcome> {
    try {
      return await call(await this.#client())
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error
      this.#turn++
      return error.code === 'ECONNREFUSED' ? 'unreached' : 'unanswered'
    }
  }

  async #client(): Promise<Client> {
    const server = this.#servers[this.#turn % this.#servers.length]!
    const known = this.#clients.get(server)
    if (known !== undefined) return known
    const { ca, cert, key } = await server.connection.tls!.material()
    const client = new Client(server.url, {
      connect: { ca: ca!, cert: cert!, key: key! },
      headersTimeout: ANSWER_MS,
      allowH2: false,
    })
    this.#clients.set(server, client)
    return client
  }
}
