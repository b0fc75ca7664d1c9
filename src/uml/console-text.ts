const KEPT = 64 * 1024
const PANIC = /^Kernel panic - not syncing: .*$/m

/** What a kernel shows, as far as it is worth keeping. */
export class ConsoleText {
  #text = ''

  /** Takes what came, and returns it as a text with plain line ends. */
  add(chunk: string): string {
    const plain = chunk.replaceAll('\r', '')
    this.#text = (this.#text + plain).slice(-KEPT)
    return plain
  }

  get text(): string {
    return this.#text
  }

  /** The kernel's own last words, if it panicked. */
  get panic(): string | undefined {
    return PANIC.exec(this.#text)?.[0]
  }

  lastLines(count: number): string {
    return this.#text.trimEnd().split('\n').slice(-count).join('\n')
  }
}
