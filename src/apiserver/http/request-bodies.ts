import type { IncomingMessage } from 'node:http'
import type { Exchange } from '../request/exchange.ts'
import { StatusError } from '../status/status.ts'
import { badRequest, tooLarge, tooManyRequests } from '../status/status-errors.ts'

export interface BodyLimits {
  /** Bytes of one body. */
  readonly each: number
  /** Bytes of all bodies whose requests are not answered yet. */
  readonly together: number
}

/**
 * Receives the bodies of requests, each before its request takes a concurrency slot: a body that
 * arrives slowly takes none. When all bodies together exceed their limit, the requests that have
 * been sending the longest are rejected.
 */
export class RequestBodies {
  readonly #limits: BodyLimits
  /** Rejects the request of each body that has not arrived yet, the oldest first. */
  readonly #arriving = new Set<() => void>()
  #bytes = 0

  constructor(limits: BodyLimits) {
    this.#limits = limits
  }

  /** The whole body of a request; 415 for a compressed one. */
  take({ request, response }: Exchange): Promise<Buffer | StatusError> {
    const rejected = this.#rejectionOf(request)
    if (rejected !== undefined) return Promise.resolve(rejected)
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      let length = 0
      const forget = (): void => void (this.#bytes -= length)
      const finish = (outcome: Buffer | StatusError): void => {
        if (!this.#arriving.delete(breakOff)) return
        request.off('data', add)
        if (outcome instanceof StatusError || response.destroyed) forget()
        else response.once('close', forget)
        resolve(outcome)
      }
      const breakOff = (): void => finish(tooManyRequests(BROKEN_OFF, 1))
      const add = (chunk: Buffer): void => {
        length += chunk.length
        this.#bytes += chunk.length
        chunks.push(chunk)
        if (length > this.#limits.each) finish(this.#tooLarge())
        else this.#rejectOldest()
      }
      const fail = (): void => finish(badRequest('the body ended early'))
      this.#arriving.add(breakOff)
      request.on('data', add)
      request.once('end', () => finish(Buffer.concat(chunks, length)))
      request.once('error', fail)
      request.once('close', fail)
    })
  }

  #rejectOldest(): void {
    for (const breakOff of this.#arriving) {
      if (this.#bytes <= this.#limits.together) return
      breakOff()
    }
  }

  #rejectionOf({ headers }: IncomingMessage): StatusError | undefined {
    const encoding = headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity') return compressed(encoding)
    return Number(headers['content-length'] ?? 0) > this.#limits.each ? this.#tooLarge() : undefined
  }

  #tooLarge(): StatusError {
    return tooLarge(`Request entity too large: limit is ${this.#limits.each}`)
  }
}

const BROKEN_OFF = 'too many bodies arrive at one time, please try again later'

function compressed(encoding: string): StatusError {
  const message = `Content-Encoding ${JSON.stringify(encoding)} is not supported: send the body uncompressed`
  return new StatusError({ code: 415, reason: 'UnsupportedMediaType', message, details: {} })
}
