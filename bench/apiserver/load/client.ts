import { Pool } from 'undici'
import { quantile } from '../../report/statistics.ts'
import type { Percentiles, Target, Throughput } from './order.ts'
import { tlsOf } from './secure.ts'

export interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

const CONTENT_TYPES = {
  GET: 'application/json',
  POST: 'application/json',
  PATCH: 'application/merge-patch+json',
} as const

/** A number of connections that are kept open. */
export class Client implements AsyncDisposable {
  readonly #pool: Pool

  constructor(target: Target, connections: number) {
    this.#pool = new Pool(target.url, { connections, pipelining: 1, connect: tlsOf(target) })
  }

  /** Sends a request. @returns the number of bytes of the answer @throws if the server refuses it */
  async send({ method, path, body, headers = {} }: Request): Promise<number> {
    const answer = await this.#pool.request({
      method,
      path,
      headers: { 'content-type': CONTENT_TYPES[method], ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    })
    if (answer.statusCode >= 300) {
      throw new Error(`${method} ${path}: ${answer.statusCode} ${await answer.body.text()}`)
    }
    let bytes = 0
    for await (const chunk of answer.body as AsyncIterable<Buffer>) bytes += chunk.length
    return bytes
  }

  async json(path: string): Promise<unknown> {
    const { statusCode, body } = await this.#pool.request({ method: 'GET', path })
    if (statusCode >= 300) throw new Error(`GET ${path}: ${statusCode} ${await body.text()}`)
    return body.json()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy()
  }
}

/** Sends requests with several clients, each of which waits for its answer, until `next` returns undefined. */
export async function drive(
  client: Client,
  clients: number,
  next: () => Request | undefined,
): Promise<Throughput> {
  const latencies: number[] = []
  let bytes = 0
  const worker = async (): Promise<void> => {
    for (let request = next(); request !== undefined; request = next()) {
      const sent = performance.now()
      bytes = await client.send(request)
      latencies.push(performance.now() - sent)
    }
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: clients }, worker))
  const seconds = (performance.now() - start) / 1_000
  const requests = latencies.length
  return { requests, perSecond: requests / seconds, bytes, ...percentiles(latencies) }
}

export function percentiles(samples: readonly number[]): Percentiles {
  return { p50: quantile(samples, 0.5), p99: quantile(samples, 0.99) }
}
