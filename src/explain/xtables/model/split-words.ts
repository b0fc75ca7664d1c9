/** A word of a listed rule. */
export interface Word {
  readonly text: string
  /** It was in quotes, so it is a value even if it begins like an option. */
  readonly isQuoted: boolean
}

const WORD = /"((?:[^"\\]|\\.)*)"|(\S+)/g

/** The words of a rule as iptables-save prints it: separated by spaces, or in quotes with `\` before `"` and `\`. */
export function splitWords(line: string): readonly Word[] {
  return [...line.matchAll(WORD)].map(([, quoted, bare]) =>
    quoted === undefined
      ? { text: bare ?? '', isQuoted: false }
      : { text: quoted.replace(/\\(.)/g, '$1'), isQuoted: true },
  )
}
