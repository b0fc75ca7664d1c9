import type { PageCommand } from './page-commands.ts'

/** A file with tests. */
export interface TestFile {
  readonly path: string
  readonly text: string
}

/** Commands that a test takes from a page and runs. */
export type Execution =
  /** A block of a section, or all of its blocks; or every command in its table. */
  | {
      readonly page: string
      readonly heading: string
      readonly index?: number
      readonly isTable: boolean
      readonly span?: undefined
    }
  /** A command in a sentence. */
  | { readonly page: string; readonly span: string }

/** Matches the source of tests that run blocks of a page without naming it as `page: 'dns.md'`. */
const MARKS: Readonly<Record<string, RegExp>> = {
  'security.md': /openSecurityPage\(\)/,
  'take-over.md': /take-over\/page-commands\.ts/,
}

/** What tests of pages run before each command. */
const ALWAYS = { page: 'security.md', heading: 'Prepare the shell', isTable: false }

/** A section, with the number of a block if the test runs only one. */
const FOLLOWED =
  /\b(?:follow\(|expectShown\(|printed\(|prepare:|commandsOf\(|runSection\()\s*(['"])(.*?)\1\s*(?:,\s*(\d+)\s*,?\s*\))?/g
/** `spanOf('image.md', 'docker stop node-proxy')`: the second argument stands in the text of the page. */
const SPAN = /\bspanOf\(\s*'([^']+)',\s*(['"`])(.*?)\2,?\s*\)/gs
/** `blockOf('dns.md', 'Run it', 0)`. */
const BLOCK = /\bblockOf\(\s*'([^']+)',\s*(['"])(.*?)\2,\s*(\d+),?\s*\)/g
/** `rowsOf('orchctl.md', 'Commands')`: every command of the first column of a table. */
const ROWS = /\b(?:rowsOf|symptomRows)\(\s*'([^']+)',\s*'([^']+)',?\s*\)/g

/** The commands that tests take from pages and run, found by the literals in the source of the tests. */
export function executionsIn(tests: readonly TestFile[]): readonly Execution[] {
  return [ALWAYS, ...tests.flatMap((test) => [...blocksRunBy(test), ...namedIn(test)])]
}

function blocksRunBy({ path, text }: TestFile): readonly Execution[] {
  const named = [...text.matchAll(/page: '([^']+\.md)'/g)].map(([, page = '']) => page)
  const marked = Object.keys(MARKS).filter((page) => MARKS[page]!.test(text))
  const pages = [...new Set([...named, ...marked])]
  if (pages.length > 1) throw new Error(`${path} runs blocks of ${pages.join(' and ')}`)
  return pages.flatMap((page) =>
    [...text.matchAll(FOLLOWED)].map(([, , heading = '', index]) => ({
      page,
      heading,
      isTable: false,
      ...(index === undefined ? {} : { index: Number(index) }),
    })),
  )
}

function namedIn({ text }: TestFile): readonly Execution[] {
  const spans = [...text.matchAll(SPAN)].map(([, page = '', , span = '']) => ({ page, span }))
  const rows = [...text.matchAll(ROWS)].map(([, page = '', heading = '']) => ({
    page,
    heading,
    isTable: true,
  }))
  const blocks = [...text.matchAll(BLOCK)].map(([, page = '', , heading = '', index]) => ({
    page,
    heading,
    index: Number(index),
    isTable: false,
  }))
  return [...spans, ...rows, ...blocks]
}

/** Whether one of the executions runs the command. */
export function isExecuted(command: PageCommand, executions: readonly Execution[]): boolean {
  const { page, heading, index, isCell = false, text } = command
  return executions.some((one) => {
    if (one.page !== page) return false
    if (one.span !== undefined) return index === undefined && one.span === text
    if (one.heading !== heading) return false
    if (one.isTable) return isCell
    return index !== undefined && (one.index ?? index) === index
  })
}

/**
 * Whether a command in a sentence is the beginning of an executed one, as `node-proxy traffic` of `node-proxy traffic
 * shop/`.
 */
export function isMention(command: PageCommand, executed: readonly PageCommand[]): boolean {
  if (command.index !== undefined) return false
  const words = wordsOf(command.text.replace(/ …$/, ''))
  return executed
    .flatMap(({ text }) => text.split(/ (?:\|\|?|&&|--) |; |\$\(|<\(/))
    .map(wordsOf)
    .some((whole) => words.every((word, at) => whole[at] === word))
}

function wordsOf(command: string): readonly string[] {
  return command
    .trim()
    .replace(/^(?:\S*\/)?bin\//, '')
    .split(' ')
}
