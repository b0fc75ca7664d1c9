import { readFile } from 'node:fs/promises'
import { systemCode } from '../../lib/error.ts'
import type { Json } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { usageError } from '../usage/exit-code.ts'
import { evaluate, valueText } from './evaluate-template.ts'
import {
  type Path,
  parseSinglePath,
  parseTemplate,
  type Template,
  TemplateError,
} from './parse-template.ts'

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

/** A column of `-o custom-columns`. */
export interface CustomColumn {
  readonly name: string
  readonly path: Path
}

/** Reads `NAME:.metadata.name,PORTS:.spec.ports[*].port`. @throws NP_ORCHCTL_USAGE */
export function parseCustomColumns(text: string): readonly CustomColumn[] {
  // A comma inside of brackets belongs to a path, and does not separate columns.
  const parts = text.match(/(?:\[[^\]]*\]|[^,])+/gu) ?? []
  if (parts.length === 0) throw wrong(text, 'there is no column')
  return parts.map((part) => {
    const [, name = '', path = ''] = /^([^:]+):(.+)$/su.exec(part) ?? []
    if (name === '') throw wrong(part, 'a name and a path are missing')
    return { name, path: pathOf(path) }
  })
}

/** The cells of an object. */
export function customCells(columns: readonly CustomColumn[], object: Json): readonly string[] {
  return columns.map(({ path }) => {
    const values = evaluate(path, object, object)
    return values.length === 0 ? '<none>' : values.map(valueText).join(',')
  })
}

/** The path of a flag such as `--sort-by`. @throws NP_ORCHCTL_USAGE */
export function pathOf(text: string): Path {
  try {
    return parseSinglePath(text)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    throw wrong(text, error.message)
  }
}

function wrong(text: string, why: string): Error {
  return usageError(`${quote(text)} is no path: ${why}`, 'write for example NAME:.metadata.name')
}
