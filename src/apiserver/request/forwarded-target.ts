/**
 * The target of a forwarded request, in addition to the object that its path names. All texts are as the client
 * sent them, decoded.
 */
export interface ForwardedTarget {
  /** Empty: the default one. */
  readonly scheme: string
  /** Empty: the default one. */
  readonly port: string
  /** Without a slash at its beginning; empty: none. */
  readonly path: string
}

/** `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`, as the Kubernetes API has it; anything else is a name that no object has. */
export function splitTarget(
  segment: string,
): Omit<ForwardedTarget, 'path'> & { readonly name: string } {
  const parts = segment.split(':')
  const [first = '', second = '', third = ''] = parts
  if (parts.length === 2) return { scheme: '', name: first, port: second }
  if (parts.length === 3) return { scheme: first, name: second, port: third }
  return { scheme: '', name: segment, port: '' }
}
