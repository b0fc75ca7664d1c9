import type { TerminalSize } from '../node-streams.ts'
import { readTerminalSize } from './terminal-size.ts'

/** Passes sizes of a terminal on, also the latest one from before there was a listener. */
export class SizeRelay {
  #listener: ((size: TerminalSize) => void) | undefined
  #latest: TerminalSize | undefined

  listen(listener: (size: TerminalSize) => void): void {
    this.#listener = listener
    if (this.#latest !== undefined) listener(this.#latest)
  }

  message(message: Buffer): void {
    const size = readTerminalSize(message)
    if (size === undefined) return
    this.#latest = size
    this.#listener?.(size)
  }
}
