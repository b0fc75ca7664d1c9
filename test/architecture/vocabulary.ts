import { splitWords } from './split-words.ts'
import { RETIRED_PATTERNS, RETIRED_WORDS, type RetiredWord } from './vocabulary-list.ts'

/** A text of the project by its path from the root. */
interface Text {
  readonly path: string
  readonly text: string
}

/** One use of a retired word. `line` 0 is the name of the file. */
export interface WordHit {
  readonly path: string
  readonly line: number
  readonly found: string
  readonly use: string
}

/** Where the words of others stand, which are theirs. */
const QUOTED: readonly (readonly [path: RegExp, reason: string])[] = [
  [/^test\/architecture\/vocabulary/, 'the list itself, and its invented sources'],
  [/^(?:bench\/results\/|CHANGELOG\.md$)/, 'records of the past'],
  [/\/generated\//, 'written by a generator'],
  [/(?:package-lock\.json|\.proto|\.pem)$/, 'written by others'],
]

/**
 * Names that users, alerts, the kernel and stored data know: error codes, flags, metrics, addresses
 * of pages, and the set of the ipvs mode (`NPVS-4-SHORTCUT`).
 */
const STABLE_NAMES =
  /\bNP_[A-Z0-9_]+|\bSHORTCUT\b|(?<![\w-])--[a-z][\w-]*|\b(?:nodeproxy|apiserver|workqueue|controller|orchserver)_\w+|https?:\/\/\S+/g

/** English that is not of programs, or the words of another project. */
const ALLOWED_PHRASES =
  /\bask-me\b|\btell(?:s|ing)? apart\b|\bface value\b|\bface to face\b|\bownership territory\b|(?:['"]|queue-full or )time-out\b/gi

const COMMENT_OR_STRING =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g

const CODE = indexOf('code')
const TEXT = indexOf('text')
const FILE = indexOf('file')

/** Whether a line can hold a retired word at all; most cannot, and are not split. */
const SUSPECT = new RegExp(
  RETIRED_WORDS.flatMap(({ forms }) => forms.map((form) => form.replace(/ .*/, ''))).join('|'),
  'i',
)

/** Every retired word in one text and in the name of its file. */
export function wordHits({ path, text }: Text): readonly WordHit[] {
  if (QUOTED.some(([pattern]) => pattern.test(path))) return []
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/\..*$/, '')
  const readable = blank(blank(text, STABLE_NAMES), ALLOWED_PHRASES)
  const code = path.endsWith('.ts') ? blank(readable, COMMENT_OR_STRING) : ''
  return [
    ...[TEXT, CODE, FILE].flatMap((index) => lineHits(name, index)).map((hit) => at(path, 0, hit)),
    ...everyLine(readable, (line) => [...lineHits(line, TEXT), ...patternHits(line)], path),
    ...everyLine(code, (line) => lineHits(line, CODE), path),
  ]
}

type Found = readonly [found: string, use: string]

function at(path: string, line: number, [found, use]: Found): WordHit {
  return { path, line, found, use }
}

function everyLine(
  text: string,
  find: (line: string) => readonly Found[],
  path: string,
): readonly WordHit[] {
  return text
    .split('\n')
    .flatMap((line, index) => find(line).map((hit) => at(path, index + 1, hit)))
}

/** The same text with spaces where `pattern` matches; lines keep their numbers. */
function blank(text: string, pattern: RegExp): string {
  return text.replace(pattern, (found) => found.replace(/[^\n]/g, ' '))
}

function indexOf(where: RetiredWord['where']): ReadonlyMap<string, string> {
  const words = RETIRED_WORDS.filter((word) => word.where === where)
  return new Map(words.flatMap(({ forms, use }) => forms.map((form) => [form, use] as const)))
}

function lineHits(line: string, index: ReadonlyMap<string, string>): readonly Found[] {
  if (!SUSPECT.test(line)) return []
  const words = splitWords(line)
  return words.flatMap((word, position) =>
    [word, `${word} ${words[position + 1]}`].flatMap((form): readonly Found[] => {
      const use = index.get(form)
      return use === undefined ? [] : [[form, use]]
    }),
  )
}

function patternHits(line: string): readonly Found[] {
  return RETIRED_PATTERNS.flatMap(([pattern, use]) =>
    [...line.matchAll(pattern)].map(([found]): Found => [found, use]),
  )
}
