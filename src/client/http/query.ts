/** Query parameters of a request, unescaped. */
export type Query = Readonly<Record<string, string>>

/** `?a=b&c=d`, or an empty text. */
export function queryText(query: Query): string {
  const text = new URLSearchParams(query).toString()
  return text === '' ? '' : `?${text}`
}
