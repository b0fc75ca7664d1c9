import { type EventEmitter, once } from 'node:events'

/** A text stream that the program writes, such as `process.stdout`. */
export interface OutputStream {
  readonly isTTY?: boolean
  /** Returns false if the next write should wait for the event `drain`. */
  write(text: string | Uint8Array): unknown
}

/** The terminal at which the user types. */
export interface Terminal {
  /** Whether each key is delivered at once, Ctrl-C too. */
  setRaw(isRaw: boolean): void
  /** Columns and rows. */
  size(): { readonly width: number; readonly height: number }
  /** Calls back when the size has changed; the result stops it. */
  onResize(changed: () => void): () => void
}

/** What the program uses outside of itself. */
export interface Host {
  /** The bytes of the standard input; `destroy` ends reading before its end. */
  readonly stdin: AsyncIterable<Uint8Array | string> & { destroy?(): unknown }
  /** Absent: standard input is no terminal. */
  readonly terminal?: Terminal
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly version: string
  /** Aborted when the user interrupts the program. */
  readonly signal: AbortSignal
}

/** Writes bytes, and resolves when the stream accepts more. */
export async function writeBytes(output: OutputStream, bytes: Uint8Array | string): Promise<void> {
  if (output.write(bytes) === false) await once(output as OutputStream & EventEmitter, 'drain')
}
