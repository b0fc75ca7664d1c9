import { splitWords } from './split-words.ts'

interface Text {
  readonly path: string
  readonly text: string
}

const COMMENT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g

/**
 * The files whose name or code holds an identifier (`EndpointSlice`), compared word by word: what a
 * kind, a mode, a field or a metric of that name touches. Plurals count; comments do not.
 */
export function touches(word: string, texts: readonly Text[]): readonly string[] {
  const wanted = ` ${splitWords(word).join(' ')}`
  return texts
    .filter(({ path, text }) => {
      const code = path.endsWith('.ts') ? text.replace(COMMENT, '') : text
      return ` ${splitWords(`${path} ${code}`).join(' ')}`.includes(wanted)
    })
    .map(({ path }) => path)
}
