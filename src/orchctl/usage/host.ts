/** A text stream that the program writes, such as `process.stdout`. */
export interface OutputStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** What the program touches of the outside world. */
export interface Host {
  /** The bytes of the standard input, read by `-f -`. */
  readonly stdin: AsyncIterable<Uint8Array | string>
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly version: string
  /** Aborted when the user interrupts the program. */
  readonly signal: AbortSignal
}
