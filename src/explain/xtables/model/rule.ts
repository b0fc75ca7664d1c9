const WORD = /"((?:[^"\\]|\\.)*)"|(\S+)/g

/** An option of a match or target: `! --dports 80,443`. */
export interface Option {
  /** The name with its dashes: `--dports`, `-s`. */
  readonly name: string
  readonly isNegated: boolean
  readonly values: readonly string[]
}

/** A match (`tcp`, `set`; `ip` for the options before any `-m`) or a target with its options. */
export interface OptionGroup {
  readonly name: string
  readonly options: readonly Option[]
}

/** A rule in its parts. */
export interface Rule {
  readonly matches: readonly OptionGroup[]
  /** Undefined if the rule only counts. */
  readonly target: OptionGroup | undefined
  /** `-g`: the called chain does not return to this one. */
  readonly isGoto: boolean
}

/** Options whose value is free text, printed without quotes if it consists of letters, digits, `-` and `_`. */
const FREE_TEXT = new Set([
  '--comment',
  '--log-prefix',
  '--nflog-prefix',
  '--name',
  '--match-set',
  '--add-set',
  '--del-set',
  '--map-set',
])

interface MutableGroup {
  readonly name: string
  readonly options: { name: string; isNegated: boolean; values: string[] }[]
}

/** Parses a rule without its `-A CHAIN`. Every word becomes part of a group, so that none is ignored. */
export function parseRule(text: string): Rule {
  const words = splitWords(text)
  const matches: MutableGroup[] = [{ name: 'ip', options: [] }]
  let target: MutableGroup | undefined
  let group = matches[0]!
  let isNegated = false
  let isGoto = false
  for (let at = 0; at < words.length; at++) {
    const { text: word, isQuoted } = words[at]!
    if (isQuoted || !startsOption(word)) group.options.at(-1)?.values.push(word)
    else if (word === '!') isNegated = true
    else if (word === '-m') matches.push((group = { name: valueAt(words, ++at), options: [] }))
    else if ((word === '-j' || word === '-g') && target === undefined) {
      isGoto = word === '-g'
      group = target = { name: valueAt(words, ++at), options: [] }
    } else {
      const values = FREE_TEXT.has(word) ? [valueAt(words, ++at)] : []
      group.options.push({ name: word, isNegated, values })
      isNegated = false
    }
  }
  return { matches, target, isGoto }
}

/** The first value of an option; undefined without it. */
export function optionValue(group: OptionGroup, name: string): string | undefined {
  return group.options.find((option) => option.name === name)?.values[0]
}

/** Whether the group has an option. */
export function hasOption(group: OptionGroup, name: string): boolean {
  return group.options.some((option) => option.name === name)
}

function startsOption(word: string): boolean {
  return word === '!' || /^--?[a-z]/i.test(word)
}

function valueAt(words: readonly Word[], at: number): string {
  return words[at]?.text ?? ''
}

/** A word of a listed rule. */
interface Word {
  readonly text: string
  /** Whether it was in quotes: then it is a value even if it begins like an option. */
  readonly isQuoted: boolean
}

/** The words of a rule as iptables-save prints it: separated by spaces, or in quotes with `\` before `"` and `\`. */
function splitWords(line: string): readonly Word[] {
  return [...line.matchAll(WORD)].map(([, quoted, bare]) =>
    quoted === undefined
      ? { text: bare ?? '', isQuoted: false }
      : { text: quoted.replace(/\\(.)/g, '$1'), isQuoted: true },
  )
}
