import { quote } from '../../lib/quote.ts'

/** A part of the facts that could not be read. */
export interface UnreadPart {
  readonly what: string
  readonly why: string
}

/** Reads parts, of which each may fail without the others. */
export interface Parts {
  /** What could not be read so far. */
  readonly unread: readonly UnreadPart[]
  /** What `read` returns; `otherwise` when it fails. */
  read<T>(what: string, otherwise: T, read: () => T | Promise<T>): Promise<T>
}

export function collectParts(): Parts {
  const unread: UnreadPart[] = []
  return {
    unread,
    async read(what, otherwise, read) {
      try {
        return await read()
      } catch (error) {
        unread.push({ what, why: error instanceof Error ? error.message : quote(error) })
        return otherwise
      }
    },
  }
}
