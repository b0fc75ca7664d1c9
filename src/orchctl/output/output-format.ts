import type { NodeProxyError } from '../../lib/error.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import { usageError } from '../usage/exit-code.ts'
import type { TemplateFormat, TemplateName } from './template-format.ts'

/** What `-o` requests. */
export type OutputFormat =
  | { readonly type: 'table'; readonly isWide: boolean }
  | { readonly type: 'json' | 'yaml' | 'name' }
  | TemplateFormat

export const FORMATS =
  'json|yaml|name|wide|jsonpath=TEMPLATE|jsonpath-file=FILE|custom-columns=SPEC|custom-columns-file=FILE'

const TEMPLATES: ReadonlySet<string> = new Set<TemplateName>([
  'jsonpath',
  'jsonpath-file',
  'custom-columns',
  'custom-columns-file',
])

const NAMES = FORMATS.split('|').map((format) => format.split('=')[0] ?? '')

/** Reads the value of `-o`; none: a table. @throws NP_ORCHCTL_USAGE */
export async function outputFormat(text: string | undefined): Promise<OutputFormat> {
  const [, name = '', argument] = /^([a-z-]*)(?:=(.*))?$/su.exec(text ?? '') ?? []
  if (argument === undefined) return plainFormat(text ?? '')
  if (!TEMPLATES.has(name)) throw unknown(text ?? '')
  const { templateFormat } = await import('./template-format.ts')
  return templateFormat(name as TemplateName, argument)
}

/** The value of `-o` of a command that has only these formats. @throws NP_ORCHCTL_USAGE */
export function formatAmong<Format extends string>(
  text: string | undefined,
  ...formats: readonly Format[]
): Format | undefined {
  const found = formats.find((one) => one === text)
  if (found !== undefined || text === undefined) return found
  const choice = [formats.slice(0, -1).join(', '), formats.at(-1)].filter(Boolean).join(' or ')
  throw usageError(`-o ${quote(text)} is no output format`, `write ${choice}`)
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
