import { readFile } from 'node:fs/promises'
import type { NodeProxyError } from '../../lib/error.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import { parseTemplate } from '../jsonpath/parse-template.ts'
import { TemplateError } from '../jsonpath/scanner.ts'
import type { Template } from '../jsonpath/template.ts'
import { usageError } from '../usage/usage-error.ts'
import { type CustomColumn, parseCustomColumns } from './custom-columns.ts'

/** What `-o` requests. */
export type OutputFormat =
  | { readonly type: 'table'; readonly isWide: boolean }
  | { readonly type: 'json' | 'yaml' | 'name' }
  | { readonly type: 'jsonpath'; readonly template: Template }
  | { readonly type: 'custom-columns'; readonly columns: readonly CustomColumn[] }

export const FORMATS =
  'json|yaml|name|wide|jsonpath=TEMPLATE|jsonpath-file=FILE|custom-columns=SPEC|custom-columns-file=FILE'

const NAMES = FORMATS.split('|').map((format) => format.split('=')[0] ?? '')

/** Reads the value of `-o`; none: a table. @throws NP_ORCHCTL_USAGE */
export async function outputFormat(text: string | undefined): Promise<OutputFormat> {
  const [, name = '', argument] = /^([a-z-]*)(?:=(.*))?$/su.exec(text ?? '') ?? []
  if (argument === undefined) return plainFormat(text ?? '')
  switch (name) {
    case 'jsonpath':
      return { type: 'jsonpath', template: template(argument) }
    case 'jsonpath-file':
      return { type: 'jsonpath', template: template((await fileText(argument)).trimEnd()) }
    case 'custom-columns':
      return { type: 'custom-columns', columns: parseCustomColumns(argument) }
    case 'custom-columns-file':
      return { type: 'custom-columns', columns: columnsOfFile(await fileText(argument)) }
    default:
      throw unknown(text ?? '')
  }
}

function plainFormat(text: string): OutputFormat {
  if (text === '' || text === 'wide') return { type: 'table', isWide: text === 'wide' }
  if (text === 'json' || text === 'yaml' || text === 'name') return { type: text }
  throw unknown(text)
}

function unknown(text: string): NodeProxyError {
  const meant = nearest(text, NAMES)
  const hint = meant === undefined ? `write one of ${FORMATS}` : `did you mean ${meant}?`
  return usageError(`-o ${quote(text)} is no output format`, hint)
}

/** @throws NP_ORCHCTL_USAGE */
function template(text: string): Template {
  try {
    return parseTemplate(text)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    throw usageError(
      `the template ${quote(text)} cannot be read: ${error.message}`,
      "write for example -o jsonpath='{.items[*].metadata.name}'",
    )
  }
}

/** Two lines: the names of the columns, and below them their paths. */
function columnsOfFile(text: string): readonly CustomColumn[] {
  const [names = '', paths = ''] = text.split('\n')
  const words = (line: string): readonly string[] => line.split(/\s+/u).filter(Boolean)
  const pairs = words(names).map((name, index) => `${name}:${words(paths)[index] ?? ''}`)
  return parseCustomColumns(pairs.join(','))
}

async function fileText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw usageError(`the file ${quote(path)} cannot be read: ${code}`)
  })
}
