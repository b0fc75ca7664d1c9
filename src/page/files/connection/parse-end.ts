/** One end of a connection, as a person writes it. */
export type End =
  | {
      readonly kind: 'pod'
      readonly namespace: string
      readonly name: string
      readonly port: string
    }
  /** A process of a node; `name` empty: of the node that is chosen. */
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'address'; readonly ip: string }
  /** What the node is to make sense of. */
  | { readonly kind: 'other'; readonly text: string }

const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\da-f.]*:[\da-f:.]*)$/i

/** `pod/NAMESPACE/NAME[:PORT]`, `pod/NAME` of the namespace default, `node`, `node/NAME`, or an address. */
export function parseEnd(text: string): End {
  const [kind = '', ...words] = text.split('/')
  if (kind === 'pod' && words.length > 0 && words.length <= 2) {
    const [name = '', port = ''] = (words.at(-1) ?? '').split(':')
    return { kind, namespace: words.length === 2 ? (words[0] ?? '') : 'default', name, port }
  }
  if (kind === 'node' && words.length <= 1) return { kind, name: words[0] ?? '' }
  if (ADDRESS.test(text)) return { kind: 'address', ip: text }
  return { kind: 'other', text }
}

/** The family of an address that a destination begins with; undefined: it is a name. */
export function familyOf(destination: string): 4 | 6 | undefined {
  if (destination.startsWith('[')) return 6
  return /^\d{1,3}\.\d/.test(destination) ? 4 : undefined
}
