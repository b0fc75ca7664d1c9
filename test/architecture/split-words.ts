/** `HTTPServerOf a-node` is five words: http, server, of, a, node. */
export function splitWords(text: string): readonly string[] {
  const parts = text.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []
  return parts.map((part) => part.toLowerCase())
}
