/** Why a template cannot be read. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

/** Reads a text from left to right. */
export class Scanner {
  readonly #text: string
  at = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.at >= this.#text.length
  }

  /** The next character; empty at the end. */
  get next(): string {
    return this.#text[this.at] ?? ''
  }

  /** Skips `words` if they are next. @returns whether they were */
  take(words: string): boolean {
    if (!this.#text.startsWith(words, this.at)) return false
    this.at += words.length
    return true
  }

  /** Skips and returns the text that a sticky pattern matches here; empty: no match. */
  match(pattern: RegExp): string {
    const sticky = new RegExp(pattern.source, 'uy')
    sticky.lastIndex = this.at
    const found = sticky.exec(this.#text)?.[0] ?? ''
    this.at += found.length
    return found
  }

  skipSpaces(): void {
    this.match(/\s*/)
  }

  /** Skips `words`. @throws TemplateError when they are not next */
  expect(words: string): void {
    if (!this.take(words)) throw this.error(`${words} is missing`)
  }

  /** Reads a text in single or double quotes. @throws TemplateError */
  quoted(): string {
    const quote = this.next
    this.at++
    let text = ''
    while (this.next !== quote) {
      if (this.isAtEnd) throw this.error(`the closing ${quote} is missing`)
      const character = this.next
      this.at++
      if (character !== '\\') text += character
      else {
        text += ESCAPES[this.next] ?? this.next
        this.at++
      }
    }
    this.at++
    return text
  }

  error(message: string): TemplateError {
    return new TemplateError(`${message} at character ${this.at + 1}`)
  }
}
