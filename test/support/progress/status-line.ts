/** The part of a terminal's stream that a status line needs. */
export interface Terminal {
  readonly columns?: number
  write: (text: string, ...rest: never[]) => boolean
}

const CLEAR_LINE = '\r\x1b[K'

/**
 * A status line below all other output. It is erased before each write to one of the streams, and drawn again after a
 * write that ends with a line end. `close` removes it and restores the streams.
 */
export class StatusLine {
  readonly #terminal: Terminal
  readonly #draw: Terminal['write']
  readonly #restore: (() => void)[] = []
  #text = ''
  #drawn = false
  #atLineStart = true

  constructor(terminal: Terminal, others: readonly Terminal[] = []) {
    this.#terminal = terminal
    this.#draw = terminal.write.bind(terminal)
    for (const stream of [terminal, ...others]) this.#restore.push(this.#wrap(stream))
  }

  show(text: string): void {
    this.#erase()
    this.#text = text.slice(0, (this.#terminal.columns ?? 80) - 1)
    this.#redraw()
  }

  close(): void {
    this.#erase()
    for (const restore of this.#restore) restore()
  }

  #wrap(stream: Terminal): () => void {
    const { write } = stream
    stream.write = (text, ...rest) => {
      this.#erase()
      const result = write.call(stream, text, ...rest)
      this.#atLineStart = text.endsWith('\n')
      this.#redraw()
      return result
    }
    return () => {
      stream.write = write
    }
  }

  #erase(): void {
    if (this.#drawn) this.#draw(CLEAR_LINE)
    this.#drawn = false
  }

  #redraw(): void {
    if (!this.#atLineStart || this.#text === '') return
    this.#draw(this.#text)
    this.#drawn = true
  }
}
