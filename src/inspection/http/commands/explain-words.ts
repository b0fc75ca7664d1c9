import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'

/** Bytes of the longest word: names of Services have at most 63 + 63 + 15 characters. */
const MAX_WORD = 256

/**
 * The words of `node-proxy explain` for the query of a request. What the caller wrote cannot become a flag.
 * @throws NP_INSPECTION_REFUSED
 */
export function explainWords(query: URLSearchParams, socket: string): readonly string[] {
  const [source, destination] = [required(query, 'source'), required(query, 'destination')]
  const flags = ['protocol', 'interface'].flatMap((name) => {
    const value = wordOf(query, name)
    return value === undefined ? [] : [`--${name}=${value}`]
  })
  return ['explain', '--output=json', `--socket=${socket}`, ...flags, '--', source, destination]
}

function required(query: URLSearchParams, name: string): string {
  const value = wordOf(query, name)
  if (value !== undefined) return value
  throw new NodeProxyError('NP_INSPECTION_REFUSED', `${name}: the query has none`, {
    hint: 'write ?source=ADDRESS&destination=ADDRESS:PORT',
  })
}

function wordOf(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name) ?? ''
  if (value === '') return undefined
  if (value.length <= MAX_WORD && !/\p{C}/u.test(value)) return value
  throw new NodeProxyError('NP_INSPECTION_REFUSED', `${name}: ${quote(value)} is no word`, {
    hint: `write at most ${MAX_WORD} printable characters`,
  })
}
