/** How paths of a server become requests. */
export interface ConnectionParts {
  /** Ends with a slash. A relative URL is relative to the page. */
  readonly base: string
  /** The headers of every request. */
  readonly headers?: () => Readonly<Record<string, string>>
  /** Called with each refusal before it is thrown. */
  readonly onRefusal?: (error: RequestError) => void
}

/** GET requests of one server. Each throws RequestError, and stops with its signal. */
export class Connection {
  readonly #parts: ConnectionParts

  constructor(parts: ConnectionParts) {
    this.#parts = parts
  }

  async json<T>(path: string, signal: AbortSignal): Promise<T> {
    const response = await this.#get(path, signal)
    try {
      return (await response.json()) as T
    } catch (error) {
      throw signal.aborted ? error : unreadable(error)
    }
  }

  /** The lines of a stream, as many at a time as arrived together. */
  async *lines<T>(path: string, signal: AbortSignal): AsyncGenerator<readonly T[]> {
    const { body } = await this.#get(path, signal)
    if (body === null) return
    try {
      yield* readLines<T>(body)
    } catch (error) {
      throw signal.aborted ? error : unreadable(error)
    }
  }

  async #get(path: string, signal: AbortSignal): Promise<Response> {
    const { base, headers, onRefusal } = this.#parts
    const options = { signal, headers: headers?.() ?? {}, cache: 'no-store' } as const
    const response = await fetch(base + path, options).catch((error: unknown) => {
      if (signal.aborted) throw error
      throw new RequestError('the server does not answer')
    })
    if (response.ok) return response
    const error = await refusal(response)
    onRefusal?.(error)
    throw error
  }
}

/** The error for an answer whose connection broke, or that is no JSON. */
function unreadable(error: unknown): RequestError {
  return new RequestError(`the answer cannot be read: ${messageOf(error)}`)
}

/** An error of a node-proxy, `{"code":"NP_…","message":"…"}`, or a Status of the API, whose cause may be one. */
interface ErrorBody {
  readonly code?: unknown
  readonly message?: unknown
  readonly details?: {
    readonly causes?: readonly { readonly reason?: string; readonly message?: string }[]
  }
}

async function refusal(response: Response): Promise<RequestError> {
  const { status } = response
  const body = (await response.json().catch(() => ({}))) as ErrorBody
  const cause = body.details?.causes?.find(({ reason = '' }) => reason.startsWith('NP_'))
  const message = cause?.message ?? body.message
  const code = cause?.reason ?? (typeof body.code === 'string' ? body.code : '')
  const text = typeof message === 'string' ? message : `the server answers with status ${status}`
  return new RequestError(text, { code, status })
}

/**
 * The JSON objects of a stream that has one in each line, as many at a time as arrived together. Their type is not
 * checked: it is what the caller expects from the path.
 */
export async function* readLines<T>(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<readonly T[]> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    const objects = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T)
    if (objects.length > 0) yield objects
  }
  if (rest.trim() !== '') yield [JSON.parse(rest) as T]
}

/** A request that was refused, or that got no answer. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  /** `NP_…` of docs/errors.md where the server gave one; empty: none. */
  readonly code: string
  /** 0: no answer. */
  readonly status: number

  constructor(message: string, { code = '', status = 0 } = {}) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** All items of a stream that has several at a time. */
export async function collect<T>(batches: AsyncIterable<readonly T[]>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const batch of batches) found.push(...batch)
  return found
}

/** What went wrong, for people. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
