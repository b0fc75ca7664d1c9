/** Calls back once: when the whole time is over, or when `heard` was not called for too long. */
export class Watchdog {
  readonly #bark: (code: 'NP_UML_TIMEOUT' | 'NP_UML_SILENT') => void
  readonly #silenceMs: number | undefined
  readonly #whole: NodeJS.Timeout | undefined
  #silence: NodeJS.Timeout | undefined

  constructor(
    limits: { readonly timeoutMs?: number; readonly silenceMs?: number },
    bark: (code: 'NP_UML_TIMEOUT' | 'NP_UML_SILENT') => void,
  ) {
    const { timeoutMs, silenceMs } = limits
    this.#bark = bark
    this.#silenceMs = silenceMs
    if (timeoutMs !== undefined) this.#whole = setTimeout(() => bark('NP_UML_TIMEOUT'), timeoutMs)
    this.heard()
  }

  /** Something was heard. */
  heard(): void {
    if (this.#silenceMs === undefined) return
    if (this.#silence !== undefined) this.#silence.refresh()
    else this.#silence = setTimeout(() => this.#bark('NP_UML_SILENT'), this.#silenceMs)
  }

  stop(): void {
    clearTimeout(this.#whole)
    clearTimeout(this.#silence)
  }
}
