import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { ServerOptions } from 'node:https'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'

/** One request as it reached the server. */
export interface Arrival {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export interface ScriptedServer {
  readonly url: string
  readonly port: number
  /** Every request that arrived, in order. */
  readonly arrivals: readonly Arrival[]
  /** Resolves when the n-th request (from 1) has arrived. */
  arrival(n: number): Promise<Arrival>
  close(): Promise<void>
}

/** An HTTP(S) server on loopback whose answers, including invalid ones, the test gives in `answer`. */
export async function startScriptedServer(
  answer: (arrival: Arrival) => void | Promise<void>,
  { tls, port = 0 }: { readonly tls?: ServerOptions; readonly port?: number } = {},
): Promise<ScriptedServer> {
  const arrivals: Arrival[] = []
  let wake: () => void = () => undefined
  const listener: RequestListener = (request, response) => {
    const { method = '', headers } = request
    const url = new URL(request.url ?? '/', 'http://scripted')
    const arrival = { method, url, headers, request, response }
    arrivals.push(arrival)
    wake()
    void answer(arrival)
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const bound = (server.address() as AddressInfo).port
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${bound}`,
    port: bound,
    arrivals,
    async arrival(n) {
      while (arrivals.length < n) {
        await new Promise<void>((resolve) => {
          const before = wake
          wake = () => {
            before()
            resolve()
          }
        })
      }
      return arrivals[n - 1]!
    },
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

/** Answers with a `Status` that refuses the request. */
export function answerStatus(response: ServerResponse, code: number, reason: string): void {
  answerJson(response, code, statusOf(code, reason))
}

export function statusOf(code: number, reason: string): Readonly<Record<string, unknown>> {
  const message = `scripted ${reason}`
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }
}
