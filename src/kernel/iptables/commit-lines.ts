/** Remembers the lines of COMMIT in a restore text, while it passes through. */
export class CommitLines {
  readonly #lines: number[] = []
  #line = 1
  #partial = ''

  watch(text: string | Iterable<string>): string | Iterable<string> {
    if (typeof text !== 'string') return this.#each(text)
    this.#scan(text)
    return text
  }

  get count(): number {
    return this.#lines.length
  }

  /** COMMIT lines before `line`: those that took effect when `line` failed. */
  before(line: number): number {
    return this.#lines.filter((commit) => commit < line).length
  }

  *#each(chunks: Iterable<string>): Generator<string> {
    for (const chunk of chunks) {
      this.#scan(chunk)
      yield chunk
    }
  }

  #scan(chunk: string): void {
    let start = 0
    for (;;) {
      const end = chunk.indexOf('\n', start)
      if (end < 0) break
      if (this.#partial + chunk.slice(start, end) === 'COMMIT') this.#lines.push(this.#line)
      this.#partial = ''
      this.#line++
      start = end + 1
    }
    this.#partial += chunk.slice(start)
  }
}
