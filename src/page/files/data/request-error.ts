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
