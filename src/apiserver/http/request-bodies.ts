import type { IncomingMessage } from 'node:http'
import type { Exchange } from '../request/api-request.ts'
import { badRequest, StatusError, tooLarge, tooManyRequests } from '../status/status.ts'

/** The limits of request bodies. */
export interface BodyLimits {
  /** Bytes of one body. */
  readonly bytesPerBody: number
  /** Bytes of all bodies whose requests are not answered yet. */
  readonly totalBytes: number
}

/**
 * Receives the bodies of requests before the requests take concurrency slots, so that a slow body occupies
 * none. When all bodies together exceed their limit, the requests that have been sending the longest are
 * rejected.
 */
export class RequestBodies {
  readonly #limits: BodyLimits
  /** Functions that reject the requests whose bodies have not arrived yet, the oldest first. */
  readonly #arriving = new Set<() => void>()
  #bytes = 0

  constructor(limits: BodyLimits) {
    this.#limits = limits
  }

  /**
   * The whole body of a request. 415: it is compressed; 413: it is longer than one body may be; 429: it was the
   * longest in arriving when all bodies exceeded their limit; 400: the client aborted it. Its bytes count
   * towards the limit until the answer is sent.
   */
  receive({ request, response }: Exchange): Promise<Buffer | StatusError> {
    const rejected = this.#checkHeaders(request)
    if (rejected !== undefined) return Promise.resolve(rejected)
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      let length = 0
      const release = (): void => void (this.#bytes -= length)
      const finish = (outcome: Buffer | StatusError): void => {
        if (!this.#arriving.delete(reject)) return
        request.off('data', onData)
        if (outcome instanceof StatusError || response.destroyed) release()
        else response.once('close', release)
        resolve(outcome)
      }
      const reject = (): void => finish(tooManyRequests(TOO_MANY_BODIES, 1))
      const onData = (chunk: Buffer): void => {
        length += chunk.length
        this.#bytes += chunk.length
        chunks.push(chunk)
        if (length > this.#limits.bytesPerBody) finish(this.#tooLarge())
        else this.#rejectOldest()
      }
      const fail = (): void => finish(badRequest('the body ended early'))
      this.#arriving.add(reject)
      request.on('data', onData)
      request.once('end', () => finish(Buffer.concat(chunks, length)))
      request.once('error', fail)
      request.once('close', fail)
    })
  }

  #rejectOldest(): void {
    for (const reject of this.#arriving) {
      if (this.#bytes <= this.#limits.totalBytes) return
      reject()
    }
  }

  #checkHeaders({ headers }: IncomingMessage): StatusError | undefined {
    const encoding = headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity') return compressed(encoding)
    const announced = Number(headers['content-length'] ?? 0)
    return announced > this.#limits.bytesPerBody ? this.#tooLarge() : undefined
  }

  #tooLarge(): StatusError {
    return tooLarge(`Request entity too large: limit is ${this.#limits.bytesPerBody}`)
  }
}

const TOO_MANY_BODIES = 'too many bodies arrive at one time, please try again later'

function compressed(encoding: string): StatusError {
  const message = `Content-Encoding ${JSON.stringify(encoding)} is not supported: send the body uncompressed`
  return new StatusError({ code: 415, reason: 'UnsupportedMediaType', message, details: {} })
}
