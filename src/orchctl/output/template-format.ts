import { readFile } from 'node:fs/promises'
import { systemCode } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { parseTemplate } from '../jsonpath/parse-template.ts'
import { TemplateError } from '../jsonpath/scanner.ts'
import type { Template } from '../jsonpath/template.ts'
import { usageError } from '../usage/exit-code.ts'
import { type CustomColumn, parseCustomColumns } from './custom-columns.ts'

/** The formats with an argument. */
export type TemplateFormat =
  | { readonly type: 'jsonpath'; readonly template: Template }
  | { readonly type: 'custom-columns'; readonly columns: readonly CustomColumn[] }

/** How the formats with an argument are written. */
export type TemplateName = 'jsonpath' | 'jsonpath-file' | 'custom-columns' | 'custom-columns-file'

/** A format whose argument is a template, or the path of a file with one. @throws NP_ORCHCTL_USAGE */
export async function templateFormat(
  name: TemplateName,
  argument: string,
): Promise<TemplateFormat> {
  switch (name) {
    case 'jsonpath':
      return { type: 'jsonpath', template: template(argument) }
    case 'jsonpath-file':
      return { type: 'jsonpath', template: template((await fileText(argument)).trimEnd()) }
    case 'custom-columns':
      return { type: 'custom-columns', columns: parseCustomColumns(argument) }
    case 'custom-columns-file':
      return { type: 'custom-columns', columns: columnsOfFile(await fileText(argument)) }
  }
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
    const code = systemCode(error)
    throw usageError(`the file ${quote(path)} cannot be read: ${code}`)
  })
}
