import { NodeProxyError } from '../../lib/error.ts'

/** Whether a parser takes the text; one that does not says so by a `NodeProxyError`. */
export function isAccepted(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text)
    return true
  } catch (error) {
    if (error instanceof NodeProxyError) return false
    throw error
  }
}
