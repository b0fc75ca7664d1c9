import type { WatchRequest } from './generated/etcd_pb.ts'
import { requestProgress } from './watch-request.ts'

/**
 * Asks an idle watch how far it is complete, again and again, but never a
 * second time before something arrived: an unread stream collects one answer.
 * It ends when it is disposed of, or with `signal`, because nobody disposes of a
 * watch whose reader went away.
 */
export class ProgressRequests implements Disposable {
  readonly #timer: NodeJS.Timeout
  #unanswered = false

  constructor(
    call: { write(request: WatchRequest): unknown },
    everyMs: number,
    signal: AbortSignal,
  ) {
    this.#timer = setInterval(() => {
      if (signal.aborted) this[Symbol.dispose]()
      if (signal.aborted || this.#unanswered) return
      this.#unanswered = true
      call.write(requestProgress())
    }, everyMs).unref()
  }

  /** Something arrived. */
  arrived(): void {
    this.#unanswered = false
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}

/**
 * Whether an etcd of this version answers progress requests truthfully. Before
 * 3.4.31 and 3.5.13 the answer may overtake changes that it counts as sent
 * (etcd-io/etcd#15220, kubernetes/kubernetes#123192).
 */
export function answersProgress(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/).map(Number)
  if (major !== 3) return major > 3
  if (minor === 4) return patch >= 31
  return minor > 5 || (minor === 5 && patch >= 13)
}
