import { isNode, parse, type SyntaxNode, walk } from '../syntax.ts'

interface Insertion {
  readonly at: number
  readonly text: string
}

/**
 * The same source with a call of `enter` (a JavaScript expression) at the start of each function, so
 * that a running program reports the files it enters.
 */
export function instrument(path: string, text: string, enter: string): string {
  const insertions = [...walk(parse({ path, text }))].flatMap(([node]) => ofFunction(node, enter))
  return insertions
    .toSorted((a, b) => b.at - a.at)
    .reduce((source, { at, text: added }) => source.slice(0, at) + added + source.slice(at), text)
}

function ofFunction(node: SyntaxNode, enter: string): readonly Insertion[] {
  if (!/^(?:Arrow)?Function(?:Expression|Declaration)$/.test(node.type)) return []
  const body = node['body']
  if (!isNode(body)) return []
  const [start, end] = [Number(body['start']), Number(body['end'])]
  if (body.type === 'BlockStatement' || body.type === 'FunctionBody') {
    return [{ at: start + 1, text: `${enter};` }]
  }
  return [
    { at: start, text: `(${enter},` },
    { at: end, text: ')' },
  ]
}
